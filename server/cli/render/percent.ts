// Percentages, rounded down: what is not whole never reads as 100%.

export function percentText(percent: number): string {
  return `${String(Math.floor(percent * 10) / 10)}%`;
}
