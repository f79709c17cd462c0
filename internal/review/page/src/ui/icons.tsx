// Small drawings for statuses and buttons. All are hidden from screen readers, since each has a word next to it.

import type { ComponentChildren } from 'preact'
import type { StepStatus } from '../types'

const ring = <circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5" />
const disc = <circle cx="8" cy="8" r="7" fill="currentColor" />
const cut = (d: string) => <path d={d} fill="none" class="cut" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" />

const marks: Record<StepStatus, ComponentChildren> = {
  pending: ring,
  in_progress: <>{ring}<path d="M8 4a4 4 0 0 1 0 8z" fill="currentColor" /></>,
  blocked: <>{ring}<path d="M5 8h6" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" /></>,
  done: <>{disc}{cut('m5 8.2 2.1 2.1L11 6.2')}</>,
  failed: <>{disc}{cut('m5.7 5.7 4.6 4.6m0-4.6-4.6 4.6')}</>,
  skipped: <>{ring}<path d="m6 5.5 3 2.5-3 2.5" fill="none" stroke="currentColor" stroke-width="1.5" /></>,
  cancelled: <>{ring}<path d="m4 12 8-8" stroke="currentColor" stroke-width="1.5" /></>,
}

export function StatusMark({ status }: { status: StepStatus }) {
  return <svg class={`mark is-${status}`} viewBox="0 0 16 16" width="15" height="15" aria-hidden="true">{marks[status]}</svg>
}

const signs = {
  comment: 'M2.5 3.5h11v7.5h-6l-3 2.5v-2.5h-2z',
  edit: 'm3 13 .7-3L10.5 3.2l2.3 2.3L6 12.3z',
  skip: 'm3.5 4 4.5 4-4.5 4zM12 4v8',
  remove: 'M3 4.5h10M6.5 4.5V3h3v1.500m-5 0 .6 8.500h5.800l.6-8.500',
  close: 'm4 4 8 8m0-8-8 8',
  down: 'm4 6 4 4 4-4',
  grip: 'M6 4v.01M6 8v.01M6 12v.01M10 4v.01M10 8v.01M10 12v.01',
  ask: 'M5.5 6a2.5 2.5 0 1 1 3.5 2.3c-.7.300-1 .7-1 1.4M8 12v.01',
}

export function Sign({ of }: { of: keyof typeof signs }) {
  return (
    <svg class="sign" viewBox="0 0 16 16" width="15" height="15" aria-hidden="true">
      <path d={signs[of]} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  )
}
