// The inbox of all workspaces, newest first, and the workspaces themselves.

import { batch } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { bind } from '../keys'
import { clock, connection, current, heard, inbox, open, openFormer, pane, selected, workspace } from '../store'
import type { Waiting } from '../types'
import { Prose } from './prose'
import { ago, count, hostName } from './format'

const kinds: Record<Waiting['kind'], string> = { plan: 'Plan', question: 'Question', step: 'Step', blocker: 'Blocker', reply: 'Reply' }

export function Inbox() {
  useLayoutEffect(() => bind({ keys: ['n'], what: 'Next waiting item', group: 'Viewing', when: () => inbox.value.waiting.length > 0, run: next }), [])
  const { waiting, workspaces } = inbox.value
  if (!heard.value || connection.value !== 'live' && connection.value !== 'lost') return null
  return (
    <>
      <h2 id="inbox">Waiting for you{waiting.length > 0 && <span class="count">{waiting.length}</span>}</h2>
      {waiting.length === 0
        ? <p class="empty small">Nothing. Plans, questions and blockers from all workspaces appear here.</p>
        : <ul class="waiting" role="list" aria-labelledby="inbox">{waiting.map(w => <li key={nameOf(w)}><Item of={w} /></li>)}</ul>}
      <h2 id="workspaces">Workspaces</h2>
      <ul class="places" role="list" aria-labelledby="workspaces">
        {workspaces.map(p => {
          const n = waiting.filter(w => w.workspace === p.id).length
          return (
            <li key={p.id}>
              <button class="place" aria-current={p.id === workspace.value ? 'true' : undefined} onClick={() => { open(p.id); openFormer('') }} title={p.path}>
                <span class="name">{p.name}</span>
                {n > 0 && <span class="count" aria-label={count(n, 'item') + ' waiting'}>{n}</span>}
                <span class="path">{p.path}</span>
              </button>
            </li>
          )
        })}
      </ul>
    </>
  )
}

function Item({ of: w }: { of: Waiting }) {
  const here = w.workspace === workspace.value
  return (
    <button class={`item kind-${w.kind}`} aria-current={here ? 'true' : undefined} onClick={() => go(w)}>
      <span class="kind">{kinds[w.kind]}</span>
      <time class="age" dateTime={w.at}>{ago(w.at, clock.value)}</time>
      <span class="title"><Prose of={w.title} /></span>
      <span class="where">{w.name}{w.by && <> · {hostName(w.by)}</>}</span>
    </button>
  )
}

// next cycles through the inbox, from the newest item to the oldest.
let last = ''

function next(): void {
  const all = inbox.value.waiting, w = all[(all.findIndex(w => nameOf(w) === last) + 1) % all.length]
  if (!w) return
  last = nameOf(w)
  go(w)
}

const nameOf = (w: Waiting) => w.workspace + w.kind + w.id

// go shows an item of the inbox: its workspace, and its step if it has one.
function go(w: Waiting): void {
  open(w.workspace)
  openFormer('')
  batch(() => {
    pane.value = 'plan'
    if (w.kind === 'plan') current.value = false
    if (w.step) selected.value = w.step
  })
  document.getElementById('main')?.focus()
}
