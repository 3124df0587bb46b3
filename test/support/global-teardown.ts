// Ends what global-setup.ts began.

// eslint-disable-next-line no-restricted-syntax -- jest calls the default export
export default async function tearDown(): Promise<void> {
  const { tearDownTests } = globalThis as { readonly tearDownTests?: () => Promise<void> };
  await tearDownTests?.();
}
