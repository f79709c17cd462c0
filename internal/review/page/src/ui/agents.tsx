// The claims and the obstacles: the agents of a workspace and its open signals.

import { act, busy, clock, mayDecide, selected, view } from '../store'
import { Prose } from './prose'
import { ago, hostName } from './format'

const enforcement: Record<string, { word: string; means: string }> = {
  enforced: { word: 'enforced', means: 'its hooks respond and cover every tool that writes: its shell and editor can only read' },
  not_enforced: { word: 'not enforced', means: 'its hooks have not responded, were changed since, or leave out a tool: its shell and editor can still write' },
  not_responding: { word: 'hooks not responding', means: 'its hooks responded before, and then missed a call' },
}

export function Agents() {
  const all = view.value?.agents ?? []
  if (!all.length) return null
  return (
    <ul class="agents" role="list" aria-label="Agents, and whether planning mode is enforced for them">
      {all.map(a => {
        const known = enforcement[a.state]
        return (
          <li key={a.agent + (a.host ?? '')}>
            {hostName(a.agent)}{a.host && !hostName(a.agent).startsWith(hostName(a.host)) && <span class="soft"> in {hostName(a.host)}</span>}:{' '}
            <span class={a.state} title={known?.means}>{known?.word ?? a.state}</span>
            {a.why && <span class="soft">, {a.why}</span>}
            {a.fix && <span class="soft">. Fix: {a.fix}</span>}
            {a.state === 'enforced' && a.last_heard && <span class="soft">, last heard {a.last_heard}</span>}
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
      {all.map((s, i) => (
        <li key={i} class={`signal is-${s.level}`}>
          <span class="level">{s.level}</span>
          <span class="text">
            <Prose of={s.message} />{' '}
            {s.step ? <button class="link" onClick={() => { selected.value = s.step ?? 0 }}>step {s.step}</button> : null}{' '}
            <span class="soft">{hostName(s.by)}, {ago(s.at, clock.value)}</span>
          </span>
          {mayDecide.value && <button class="quiet small" disabled={!!busy.value} onClick={() => act('clear_signal', { id: s.id })}>Clear</button>}
        </li>
      ))}
    </ul>
  )
}
