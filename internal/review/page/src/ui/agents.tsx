// The claims and the obstacles: the agents of a workspace and its open signals.

import { act, busy, clock, mayDecide, selected, view } from '../store'
import { Name, Prose } from './prose'
import { ago } from './say'

const holds: Record<string, { word: string; means: string }> = {
  enforced: { word: 'enforced here', means: 'the hooks of its host answer: its own shell and editor only read' },
  advisory: { word: 'advisory', means: 'no hook of its host has answered, or nothing was heard of it since planning mode began; nothing but planloop’s own tools is known to hold it' },
  silent: { word: 'silent', means: 'a hook has answered before, and then a call came that none told of' },
}

export function Agents() {
  const all = view.value?.agents ?? []
  if (!all.length) return null
  return (
    <ul class="agents" role="list" aria-label="Agents, and how far planning mode holds them">
      {all.map(a => {
        const hold = holds[a.state]
        return (
          <li key={a.agent + (a.host ?? '')}>
            <Name of={a.agent} />{a.host && !a.agent.startsWith(a.host) && <span class="soft"> in {a.host}</span>}:{' '}
            <span class={`hold-${a.state}`} title={hold?.means}>{hold?.word ?? a.state}</span>
            {a.why && <span class="soft">, {a.why}</span>}
          </li>
        )
      })}
    </ul>
  )
}

export function Signals() {
  const all = view.value?.signals ?? []
  if (!all.length) return null
  return (
    <ul class="signals" role="list" aria-label="Signals">
      {all.map(s => (
        <li key={s.id} class={`signal is-${s.level}`}>
          <span class="level">{s.level}</span>
          <span class="text">
            <Prose of={s.message} />{' '}
            {s.step && <button class="link" onClick={() => { selected.value = s.step ?? 0 }}>step {s.step}</button>}{' '}
            <span class="soft"><Name of={s.by} />, {ago(s.at, clock.value)}</span>
          </span>
          {mayDecide.value && <button class="quiet small" disabled={!!busy.value} onClick={() => act('clear_signal', { id: s.id })}>Clear</button>}
        </li>
      ))}
    </ul>
  )
}
