// Percentages, rounded down: what is not whole never reads as 100%, and what is something never as 0%.

export function percentText(percent: number): string {
  return percent > 0 && percent < 0.1 ? '<0.1%' : `${String(Math.floor(percent * 10) / 10)}%`;
}
