// The timeline of a plan: its steps as bars over time, with the same in words. It is read when it is opened, since the server
// replays the log for it.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { asFault } from '../source'
import { clock, source, view, workspace } from '../store'
import { extent, inWords, type Stretch, stretches } from '../timeline'
import type { TimelineStep } from '../types'
import { count, moment, sentence, span } from './format'
import { Prose } from './prose'
import { openStep } from './run'

const most = 100 // rows until the user wants all

export function Timeline() {
  const open = useSignal(false)
  if (!source.value?.timeline || !view.value?.plan) return null
  return (
    <details class="timeline" onToggle={e => { open.value = e.currentTarget.open }}>
      <summary>Timeline</summary>
      {open.value && <Bars key={workspace.value} />}
    </details>
  )
}

function Bars() {
  const steps = useSignal<TimelineStep[] | undefined>(undefined), failed = useSignal(''), all = useSignal(false)
  const revision = view.value?.revision
  useEffect(() => {
    let late = false
    source.value?.timeline?.(workspace.value).then(got => { if (!late) { steps.value = got; failed.value = '' } }, (e: unknown) => { if (!late) failed.value = asFault(e).message })
    return () => { late = true }
  }, [revision, workspace.value])
  if (failed.value) return <p class="soft small">{sentence(failed.value)}</p>
  if (!steps.value) return <p class="soft small">Reading the log…</p>
  const begun = steps.value.filter(s => s.parts.some(p => p.kind !== 'waiting')), idle = steps.value.length - begun.length
  if (!begun.length) return <p class="soft small">No step was started yet.</p>
  const [from, to] = extent(begun, clock.value), shown = all.value ? begun : begun.slice(0, most)
  return (
    <>
      <table>
        <caption class="unseen">The work on the steps from {moment(new Date(from).toISOString())}, over {span((to - from) / 1000)}</caption>
        <thead><tr><th scope="col"><span class="unseen">Step</span></th><th scope="col"><span class="scale"><span>{clockTime(from)}</span><span class="soft">{span((to - from) / 1000)}</span><span>{clockTime(to)}</span></span></th><th scope="col"><span class="unseen">In words</span></th></tr></thead>
        <tbody>{shown.map(s => <Row key={s.step_id} step={s} from={from} to={to} />)}</tbody>
      </table>
      {shown.length < begun.length && <button class="quiet small" onClick={() => { all.value = true }}>{count(begun.length - shown.length, 'more step')}</button>}
      <p class="legend soft small" aria-hidden="true"><Key kind="running" /> running <Key kind="failed" /> failed or retried <Key kind="waiting" /> waiting</p>
      {idle > 0 && <p class="soft small">{count(idle, 'step has', 'steps have')} not started.</p>}
    </>
  )
}

function Row({ step: s, from, to }: { step: TimelineStep; from: number; to: number }) {
  const number = Number(s.step_id.replace(/\D/g, '')), words = inWords(s, to)
  return (
    <tr>
      <th scope="row"><button class="link number" aria-label={`Step ${number}`} onClick={() => openStep(number)}>{number}</button> <span class="title" title={s.title}><Prose of={s.title} /></span></th>
      <td><Bar of={stretches(s.parts, from, to)} /></td>
      <td class="soft small">{words}</td>
    </tr>
  )
}

// Bar draws stretches in thousandths of the width. Their kinds differ in height and pattern, not only in colour.
function Bar({ of }: { of: Stretch[] }) {
  return (
    <svg class="bars" viewBox="0 0 1000 16" preserveAspectRatio="none" width="100%" height="16" aria-hidden="true">
      {of.map((s, i) => <Piece key={i} {...s} />)}
    </svg>
  )
}

function Piece({ kind, at, long }: Stretch) {
  if (kind === 'waiting') return <rect class="bar-waiting" x={at} y={7} width={long} height={2} />
  if (kind === 'running') return <rect class="bar-running" x={at} y={2} width={long} height={12} />
  return <><rect class="bar-failed" x={at} y={2} width={long} height={12} /><rect class="bar-cut" x={at} y={7} width={long} height={2} /></>
}

function Key({ kind }: { kind: Stretch['kind'] }) {
  return <svg viewBox="0 0 22 16" width="22" height="16" aria-hidden="true"><Piece kind={kind} at={0} long={22} /></svg>
}

const clockTime = (at: number) => new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
