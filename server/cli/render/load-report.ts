// `load` in words: how far it is, and what has come of it.
import { groupDigits } from '../../../engine/index.js';
import type { LoadProgress, LoadReport } from '../../load/load-dataset.js';
import { count } from './text.js';

/** `size` in bytes, null where nobody knows. */
export function loadProgressText(progress: LoadProgress, milliseconds: number, size: number | null): string {
  const rate = Math.round(progress.lines / (milliseconds / 1000));
  const bad = progress.bad === 0 ? '' : `, ${groupDigits(progress.bad)} bad`;
  const done = `${groupDigits(progress.lines)} lines, ${groupDigits(rate)}/s${bad}`;
  if (size === null || progress.bytes === 0) return done;
  const part = Math.min(1, progress.bytes / size);
  return `${done}, ${String(Math.floor(part * 100))} %, ${timeText((milliseconds / part) * (1 - part))} left`;
}

function timeText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds < 100) return `${String(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${String(minutes)} min` : `${String(Math.round(minutes / 60))} h`;
}

export function loadReportText(report: LoadReport & { readonly dryRun: boolean }): string {
  const parts = [
    `${groupDigits(report.loaded)} loaded`,
    report.replaced === 0 ? '' : `${groupDigits(report.replaced)} replaced`,
    report.unchanged === 0 ? '' : `${groupDigits(report.unchanged)} unchanged`,
    report.implied === 0 ? '' : `${count(report.implied, 'namespace')} created`,
    report.bad === 0 ? '' : badLinesText(report),
  ];
  const counts = `${count(report.lines, 'line')}: ${parts.filter((part) => part !== '').join(', ')}`;
  return report.dryRun ? `${counts}\ndry run: nothing was stored` : counts;
}

export function badLinesText(report: LoadReport): string {
  return `${count(report.bad, 'bad line')} skipped`;
}
