// Earlier plans: their list, and the notice that one of them is shown.

import { useLayoutEffect } from 'preact/hooks'
import { bind } from '../keys'
import { clock, former, formerPlan, openFormer, source, view } from '../store'
import { Prose } from './prose'
import { ago, count, moment, sentence } from './format'

export function Past() {
  const all = view.value?.plans ?? []
  if (!all.length) return null
  return (
    <details class="past" open={!!former.value}>
      <summary>{count(all.length, 'earlier plan')}</summary>
      <ul role="list">
        {all.map(p => (
          <li key={p.id}>
            {source.value?.former
              ? <button class="link" aria-current={p.id === former.value ? 'true' : undefined} onClick={() => go(p.id)}><Prose of={p.objective} /></button>
              : <span><Prose of={p.objective} /></span>}
            <span class="soft">version {p.version}, {p.done} of {count(p.steps, 'step')} done; {p.became}, <time dateTime={p.archived_at} title={moment(p.archived_at)}>{ago(p.archived_at, clock.value)}</time></span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function go(id: string): void {
  openFormer(id)
  const main = document.getElementById('main')
  main?.focus()
  main?.scrollIntoView()
  main?.scrollTo(0, 0)
}

// FormerBar is above an earlier plan, in the place of the decision bar.
export function FormerBar() {
  useLayoutEffect(() => bind({ keys: ['b'], what: 'Back to the current plan', group: 'Viewing', run: () => go('') }), [])
  const p = formerPlan.value, waits = view.value?.draft?.decidable
  return (
    <section class="decision quiet-bar" aria-label="Earlier plan">
      <div class="decision-line">
        <p class="what">
          <b>{p ? sentence(`an earlier plan, ${p.became}`) : 'Loading the earlier plan…'}</b>
          {p && <span class="soft">Its last state, {ago(p.archived_at, clock.value)}. It cannot be changed.</span>}
        </p>
        <button class={waits ? 'primary' : ''} onClick={() => go('')}>{waits ? 'To the waiting plan' : 'Back to the current plan'}</button>
      </div>
    </section>
  )
}
