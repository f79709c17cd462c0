// People's edits of former drafts that an agent undid: above the decision, or first in the differences.

import { act, busy, mayDecide, swapped } from '../store'
import type { Draft } from '../types'
import { Prose } from './prose'

// Undone lists people's edits of former drafts that this one does not keep, to be put back or let go.
export function Undone({ draft }: { draft: Draft }) {
  const all = draft.undone ?? [], off = !!busy.value || !!swapped.value
  if (!all.length) return null
  const settle = (how: 'restore_edit' | 'accept_edit', key: string) => void act(how, { key, digest: draft.plan.digest })
  return (
    <div class="notice is-waiting undone">
      <b>{all.length} of your edits {all.length > 1 ? 'were' : 'was'} undone</b>
      <ul role="list">
        {all.map(e => (
          <li key={e.key}>
            <span class="text"><Prose of={e.text} />{e.want && <span class="soft want">The edit: <Prose of={e.want} /></span>}</span>
            {mayDecide.value && <span class="settle">
              <button class="small" disabled={off} onClick={() => settle('restore_edit', e.key)}>Restore</button>{' '}
              <button class="small" disabled={off} onClick={() => settle('accept_edit', e.key)}>Accept</button>
            </span>}
          </li>
        ))}
      </ul>
    </div>
  )
}
