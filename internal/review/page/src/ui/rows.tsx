// The steps as rows. A long list draws only the visible ones: every row keeps its height, so that all positions are known.

import { batch, useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { allOpen, editing, mayDecide, phone, printing, selected, shown, showsDraft, skipping, view } from '../store'
import { altered } from '../difference'
import { listed, wordOf } from '../status'
import type { Step } from '../types'
import { linesOf } from './comments'
import { edit } from './edit'
import { Sign, StatusMark } from './icons'
import { isLive, Live } from './live'
import { plain } from './markdown'
import { Prose } from './prose'
import { Grip } from './reorder'
import { toolsOf } from './format'
import { mayChange, removes, StepPanel, Whole } from './step'
import { focus } from './focus'

const wholeUpTo = 120 // rows; longer lists are windowed
const spare = 600 // pixels drawn above and below the visible part
const heights = { wide: 36, narrow: 54, line: 22, end: 4 }
const mostLines = 3 // of comments in a row

export function Rows() {
  const all = shown.value?.steps ?? []
  if (all.length > wholeUpTo && !printing.value) return allOpen.value ? <Filling all={all} /> : <Windowed all={all} />
  const row = (s: Step) => <Row key={s.id} step={s} of={all.length} at={0} />
  const folds = shown.value === view.value?.plan && shown.value?.status === 'active' && !printing.value && !allOpen.value
  return (
    <ol class="steps" role="list" aria-label="Steps">
      {folds ? finishedTogether(all).map(some => some.length <= foldsFrom ? some.map(row) : [<Finished key={'f' + some[0]!.id} steps={some.slice(0, -1)} row={row} />, row(some.at(-1)!)]) : all.map(row)}
    </ol>
  )
}

const atOnce = 24, each = 6 // open steps drawn at once, and with each frame after that

// Filling draws a long list of open steps from the chosen one on, a few with each frame; until then, a step is its title.
function Filling({ all }: { all: Step[] }) {
  const [[from, to], see] = useState<[number, number]>(() => {
    const at = Math.max(0, all.findIndex(s => s.number === selected.peek()))
    return [at, at + atOnce]
  })
  useEffect(() => {
    if (from === 0 && to >= all.length) return undefined
    const next = requestAnimationFrame(() => see(to < all.length ? [from, to + each] : [Math.max(0, from - each), to]))
    return () => cancelAnimationFrame(next)
  }, [from, to, all.length])
  const sought = from === 0 && to >= all.length ? 0 : selected.value
  return (
    <ol class="steps filling" role="list" aria-label="Steps">
      {all.map((s, i) => (i >= from && i < to) || s.number === sought ? <Row key={s.id} step={s} of={all.length} at={0} /> : <Titled key={s.id} step={s} />)}
    </ol>
  )
}

function Titled({ step: s }: { step: Step }) {
  return useMemo(() => <li class="row undrawn" data-step={s.number}>{s.number} {s.title}</li>, [s])
}

function height(s: Step): number {
  const lines = Math.min(linesOf(s.number).length, mostLines) + (isLive(s) ? 1 : 0)
  return (phone.value ? heights.narrow : heights.wide) + (lines ? lines * heights.line + heights.end : 0)
}

function Windowed({ all }: { all: Step[] }) {
  const list = useRef<HTMLOListElement>(null), panel = useRef(0)
  const [[from, to], see] = useState<[number, number]>([0, 40])
  const [, drawn] = useState(0)
  const open = selected.value
  const tops: number[] = [0]
  for (const s of all) tops.push(tops.at(-1)! + height(s) + (s.number === open ? panel.current : 0))
  const known = useRef(tops)
  known.current = tops
  const look = () => {
    if (!list.current) return
    const top = -list.current.getBoundingClientRect().top
    const first = Math.max(0, below(known.current, top - spare) - 1), last = below(known.current, top + innerHeight + spare)
    see(before => before[0] === first && before[1] === last ? before : [first, last])
  }
  useLayoutEffect(look, [all, tops.at(-1)]) // not after every drawing: asking for the list's position forces a layout
  useEffect(() => {
    addEventListener('scroll', look, { capture: true, passive: true })
    addEventListener('resize', look)
    return () => { removeEventListener('scroll', look, { capture: true }); removeEventListener('resize', look) }
  }, [])
  const measured = (px: number) => {
    if (px === panel.current) return
    panel.current = px
    drawn(px)
  }
  const inSight = all.map((s, i) => [s, i] as const).filter(([s, i]) => (i >= from && i < to) || s.number === selected.value)
  return (
    <ol ref={list} class="steps windowed" role="list" aria-label="Steps" style={{ height: `${tops.at(-1)}px` }}>
      {inSight.map(([s, i]) => <Row key={s.id} step={s} of={all.length} at={i + 1} top={tops[i]!} onPanel={measured} />)}
    </ol>
  )
}

// below finds the first of rising numbers that is greater than n.
function below(tops: number[], n: number): number {
  let low = 0, high = tops.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (tops[middle]! > n) high = middle
    else low = middle + 1
  }
  return low
}

const foldsFrom = 5 // finished steps in a row; the last one stays in view

// finishedTogether splits the steps into runs of finished steps, and others.
function finishedTogether(all: Step[]): Step[][] {
  const runs: Step[][] = []
  let last: boolean | undefined
  for (const s of all) {
    const over = s.status === 'done' && !s.stale || s.status === 'skipped' || s.status === 'cancelled'
    if (over && last) runs.at(-1)!.push(s)
    else runs.push([s])
    last = over
  }
  return runs
}

// Finished is a fold of finished steps; it is open while one of them is chosen.
function Finished({ steps, row }: { steps: Step[]; row: (s: Step) => JSX.Element }) {
  const open = useSignal(false), first = steps[0]!.number, last = steps.at(-1)!.number
  if (open.value || steps.some(s => s.number === selected.value)) return <>{steps.map(row)}</>
  const done = steps.filter(s => s.status === 'done').length, lacking = steps.filter(s => s.unverified).length
  return (
    <li class="folded">
      <button class="quiet" aria-expanded="false" onClick={() => { open.value = true; focus('step-' + first) }}>
        <StatusMark status="done" />
        <span>Steps {first} to {last} are finished{done < steps.length && `, ${steps.length - done} of them skipped`}{lacking > 0 && <span class="waits">, {lacking} not verified</span>}</span>
      </button>
    </li>
  )
}

function Row({ step: s, of, at, top, onPanel }: { step: Step; of: number; at: number; top?: number; onPanel?: (px: number) => void }) {
  const chosen = useComputed(() => selected.value === s.number), first = useComputed(() => !selected.value && shown.value?.steps[0]?.number === s.number)
  const lines = useComputed(() => linesOf(s.number)), inline = chosen
  const whole = useComputed(() => printing.value || (allOpen.value && !chosen.value)) // otherwise its panel shows it
  const changed = useComputed(() => showsDraft.value ? shown.value?.difference?.steps.find(d => d.id === s.id && d.change !== 'removed' && altered(d))?.change : undefined)
  const after = s.status !== 'pending' ? undefined : showsDraft.value ? s.depends_on : s.waiting_on
  const more = lines.value.length - mostLines, tools = toolsOf(s)
  return (
    <li class={`row${chosen.value ? ' chosen' : ''} is-${s.status} edge-${s.risk ?? 'none'}`} data-step={s.number} aria-setsize={of} aria-posinset={at || undefined}
      style={top === undefined ? undefined : { transform: `translateY(${top}px)` }}>
      <div class="line">
        <span class="number" aria-hidden="true">{s.number}</span>
        <StatusMark status={s.status} />
        <button id={'step-' + s.number} class="title" tabIndex={chosen.value || first.value ? 0 : -1} aria-expanded={chosen.value}
          onClick={() => { editing.value = false; selected.value = chosen.value ? 0 : s.number }}>
          <span class="unseen">Step {s.number}, {wordOf(s)}: </span><Prose of={s.title} />
        </button>
        <span class="meta">
          <span class={`risk risk-${s.risk ?? 'none'}`}>{s.risk ?? ''}{s.risk && <span class="unseen"> risk</span>}</span>
          <span class="tools mono" title={tools.join(', ')}>{tools[0]}{tools.length > 1 && ` +${tools.length - 1}`}</span>
          <span class="tags">
            {changed.value && <span class={`change change-${changed.value}`}>{changed.value === 'added' ? 'new' : changed.value}</span>}
            {s.warnings?.length ? <span class="change asks" title={s.warnings.map(w => w.text).join(' ')}>{s.warnings.length > 1 ? 'warnings' : 'warning'}</span> : null}
            {s.unverified ? <span class="change asks" title={s.unverified}>not verified</span> : null}
            {s.ask && <span class="change asks">asks you</span>}
            {!s.ask && s.status === 'pending' && (s.pause || s.requires_approval) && <span class="change asks">asks first</span>}
            {after?.length ? <span class="after">after {listed(after)}</span> : null}
          </span>
        </span>
        <RowButtons step={s} reachable={chosen.value} />
      </div>
      {isLive(s) && <Live step={s} />}
      {!whole.value && lines.value.slice(0, more > 0 ? mostLines - 1 : mostLines).map(c => <p key={c.key} class={`said-line is-${c.kind}`}><b>{c.who}</b> {plain(c.text)}</p>)}
      {!whole.value && more > 0 && <p class="said-line soft">{more + 1} more</p>}
      {whole.value && <Whole step={s} />}
      {inline.value && !whole.value && <Inline step={s} onHeight={onPanel} />}
    </li>
  )
}

// Inline is the chosen step inside the list.
function Inline({ step, onHeight }: { step: Step; onHeight: ((px: number) => void) | undefined }) {
  const at = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!at.current) return undefined
    at.current.closest('li')?.scrollIntoView({ block: 'nearest' })
    if (!onHeight) return undefined
    const row = at.current.closest('li')!
    const seen = new ResizeObserver(() => onHeight(row.offsetHeight - height(step))) // a chosen row shows its whole title
    seen.observe(row)
    return () => seen.disconnect()
  }, [])
  return <div ref={at} class="inline"><StepPanel step={step} /></div>
}

function RowButtons({ step: s, reachable }: { step: Step; reachable: boolean }) {
  if (!mayDecide.value) return null
  const tabIndex = reachable ? 0 : -1, change = mayChange(s)
  return (
    <span class="row-buttons">
      <Grip step={s} />
      <button class="quiet icon" tabIndex={tabIndex} aria-label={`Comment on step ${s.number}`} title="Comment (c)" onClick={() => comment(s.number)}><Sign of="comment" /></button>
      {change && <button class="quiet icon" tabIndex={tabIndex} aria-label={`Edit step ${s.number}`} title="Edit (e)" onClick={() => edit(s.number)}><Sign of="edit" /></button>}
      {change && <button class="quiet icon" tabIndex={tabIndex} aria-label={`${removes() ? 'Remove' : 'Skip'} step ${s.number}`} title={removes() ? 'Remove (x)' : 'Skip (x)'} onClick={() => skip(s.number)}><Sign of={removes() ? 'remove' : 'skip'} /></button>}
    </span>
  )
}

export function comment(number: number): void {
  selected.value = number
  editing.value = false
  focus('comment-' + number)
}

// skip opens the panel of the step to ask for a reason, or for a confirmation.
export function skip(number: number): void {
  batch(() => {
    selected.value = number
    editing.value = false
    skipping.value = number
  })
}
