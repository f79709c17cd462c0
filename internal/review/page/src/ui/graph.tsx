// The graph of a plan: the dependencies of its steps, as a picture with keyboard navigation.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { arrange, many } from '../graph/arrange'
import type { Box, Layout, Room, Spot } from '../graph/layout'
import { bind } from '../keys'
import { narrow, pane, selected, shown } from '../store'
import { listed, type Look, lookOf, wordOf } from '../status'
import type { Step } from '../types'

export function Graph() {
  const plan = shown.value
  if (!plan?.steps.length) return <p class="empty">There are no steps to draw.</p>
  return <Picture key={plan.id} steps={plan.steps} />
}

interface Links { before: Map<number, number[]>; after: Map<number, number[]> }

function links(steps: Step[]): Links {
  const known = new Set(steps.map(s => s.number))
  const before = new Map(steps.map(s => [s.number, (s.depends_on ?? []).filter(n => known.has(n))]))
  const after = new Map<number, number[]>(steps.map(s => [s.number, []]))
  for (const [n, all] of before) for (const m of all) after.get(m)!.push(n)
  return { before, after }
}

// reach returns a step's whole past or future: 1 for its neighbours, 2 for steps farther away.
function reach(of: Map<number, number[]>, from: number): Map<number, 1 | 2> {
  const found = new Map<number, 1 | 2>()
  const near = of.get(from) ?? []
  const open = [...near]
  for (const n of near) found.set(n, 1)
  for (let n = open.pop(); n !== undefined; n = open.pop()) {
    for (const m of of.get(n) ?? []) if (!found.has(m) && m !== from) { found.set(m, 2); open.push(m) }
  }
  return found
}

function Picture({ steps }: { steps: Step[] }) {
  const frame = useRef<HTMLDivElement>(null), svg = useRef<SVGSVGElement>(null)
  const [made, setMade] = useState<Layout>()
  const [failed, setFailed] = useState(false)
  const [focused, setFocused] = useState(0)
  const [hovered, setHovered] = useState(0)
  const room = useRoom(frame)
  const all = useMemo(() => links(steps), [steps])
  const shape = JSON.stringify(steps.map(s => [s.number, s.depends_on])) // a change of status moves no step
  useEffect(() => {
    if (!room) return undefined
    let late = false
    const knots = steps.map(s => ({ n: s.number, after: s.depends_on ?? [] }))
    arrange(knots, { width: room.width, height: room.height - foot })
      .then(layout => { if (!late) { looking.prepare(layout); setMade(layout) } }, () => { if (!late) setFailed(true) })
    return () => { late = true }
  }, [shape, room])
  const level = useSignal<Level>(steps.length > many ? 'far' : 'near') // likely to be right: another one draws all steps twice
  const looking = useWindow(frame, svg, made, level)
  const spots = useMemo(() => new Map(made?.spots.map(s => [s.n, s])), [made])
  const centre = focused || selected.value
  const before = useMemo(() => reach(all.before, centre), [all, centre])
  const after = useMemo(() => reach(all.after, centre), [all, centre])
  const walk = (from: number, key: string): number | undefined => {
    if (!made) return undefined
    if (key === 'Home') return steps[0]!.number
    if (key === 'End') return steps.at(-1)!.number
    return neighbour(made, spots, all, from, key)
  }
  const onKey = (e: KeyboardEvent) => {
    const from = numberOf(e.target)
    if (!from || e.altKey || e.ctrlKey || e.metaKey) return
    if (e.key === 'Enter' || e.key === ' ') selected.value = from
    else {
      const to = walk(from, e.key)
      if (to === undefined) return
      svg.current?.querySelector<SVGElement>(`[data-n="${to}"]`)?.focus({ preventScroll: true })
      const spot = spots.get(to)
      if (spot) looking.reveal(spot)
    }
    e.preventDefault()
    e.stopPropagation()
  }
  useLayoutEffect(() => bind(
    { keys: ['+', '='], what: 'Zoom in', group: 'Viewing', run: () => looking.zoom(1.3) },
    { keys: ['-'], what: 'Zoom out', group: 'Viewing', run: () => looking.zoom(1 / 1.3) },
    { keys: ['0'], what: 'Fit the whole graph', group: 'Viewing', run: looking.fit },
  ), [looking])
  const tabbed = spots.has(centre) ? centre : steps[0]!.number
  const told = hovered || centre
  const markOf = (n: number) => n === centre ? 'centre' : before.has(n) ? 'before' : after.has(n) ? 'after' : ''
  if (failed) return <p class="notice">The graph could not be drawn. The plan lists what each step waits for.</p>
  return (
    <section class="graph" aria-label="Graph of the steps">
      <div class="graph-frame" ref={frame}>
        <svg ref={svg} role="group" aria-label="Steps and their dependencies. Arrow keys follow the lines." data-marked={centre > 0 && spots.has(centre)}
          onKeyDown={onKey} onFocusIn={e => setFocused(numberOf(e.target))} onFocusOut={() => setFocused(0)}
          onPointerOver={e => { if (e.pointerType === 'mouse') setHovered(numberOf(e.target)) }} onPointerLeave={() => setHovered(0)}
          onClick={e => { const n = numberOf(e.target); if (n && !looking.dragged()) selected.value = n }}>
          {made && <Lines made={made} centre={centre} before={before} after={after} />}
          {made && (made.box.roomy || level.value === 'near' ? <g>
            {steps.map(step => {
              const spot = spots.get(step.number)
              return spot && <Node key={step.number} spot={spot} box={made.box} level={level.value} tabbed={step.number === tabbed} name={nameOf(step, all)}
                step={step} mark={markOf(step.number)} chosen={step.number === selected.value} />
            })}
          </g> : <Pills steps={steps} spots={spots} box={made.box} numbered={level.value === 'far'} all={all} tabbed={tabbed} markOf={markOf} />)}
        </svg>
        <div class="graph-tools" role="group" aria-label="View of the graph">
          <button type="button" onClick={() => looking.zoom(1 / 1.3)} aria-label="Zoom out" title="Farther away (-)">−</button>
          <button type="button" onClick={() => looking.zoom(1.3)} aria-label="Zoom in" title="Closer (+)">+</button>
          <button type="button" onClick={looking.fit} title="The whole graph (0)">Fit</button>
        </div>
      </div>
      <Caption step={steps.find(s => s.number === told)} all={all} steps={steps} grid={made?.grid} />
    </section>
  )
}

function numberOf(target: EventTarget | null): number {
  const node = target instanceof Element ? target.closest('[data-n]') : null
  return Number(node?.getAttribute('data-n') ?? 0)
}

// neighbour returns the target of an arrow key: along the lines, or sideways to the nearest of the same layer.
function neighbour(made: Layout, spots: Map<number, Spot>, all: Links, from: number, key: string): number | undefined {
  const here = spots.get(from)
  const [back, on] = made.across ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown']
  if (!here || !key.startsWith('Arrow')) return undefined
  const sign = key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 1
  const upright = key === 'ArrowUp' || key === 'ArrowDown'
  const apart = (s: Spot) => upright ? [(s.y - here.y) * sign, s.x - here.x] as const : [(s.x - here.x) * sign, s.y - here.y] as const
  const far = (s: Spot) => { const [along, aside] = apart(s); return Math.abs(along) + 3 * Math.abs(aside) }
  const nearest = (some: Spot[]) => some.reduce<Spot | undefined>((a, b) => (!a || far(b) < far(a) ? b : a), undefined)?.n ?? from
  if (!made.grid && (key === back || key === on)) {
    const near = (key === back ? all.before : all.after).get(from) ?? []
    if (near.length) return nearest(near.map(n => spots.get(n)!))
  }
  return nearest(made.spots.filter(s => { const [along, aside] = apart(s); return along > 1 && Math.abs(aside) <= along }))
}

function nameOf(step: Step, all: Links): string {
  const before = all.before.get(step.number)!, after = all.after.get(step.number)!
  return `Step ${step.number}: ${step.title}. ${sentence(wordOf(step))}${step.risk ? `, ${step.risk} risk` : ''}.`
    + (before.length ? ` Waits for ${listed(before)}.` : '') + (after.length ? ` ${listed(after)} wait${after.length === 1 ? 's' : ''} for it.` : '')
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

function Lines({ made, centre, before, after }: { made: Layout; centre: number; before: Map<number, 1 | 2>; after: Map<number, 1 | 2> }) {
  const mark = (from: number, to: number) => before.has(from) && (to === centre || before.has(to)) ? 'before'
    : after.has(to) && (from === centre || after.has(from)) ? 'after' : ''
  const drawn = (made.grid ? made.lines.filter(l => l.from === centre || l.to === centre) : made.lines).map(l => ({ ...l, mark: mark(l.from, l.to) }))
  return ( // a path for all lines without a mark: an element for each would take as long as the steps
    <g class="lines" aria-hidden="true">
      <path d={drawn.filter(l => !l.mark).map(l => l.d).join('')} data-mark="" />
      {drawn.filter(l => l.mark).map(l => <path key={`${l.from}-${l.to}`} d={l.d} data-mark={l.mark} />)}
    </g>
  )
}

// A Level is how much of a step is readable at the scale of the picture.
type Level = 'near' | 'middle' | 'far' | 'farthest'

interface NodeProps { level: Level; step: Step; spot: Spot; box: Box; tabbed: boolean; name: string; mark: string; chosen: boolean }

// attributes returns the attributes that a step has in every size.
function attributes(step: Step, tabbed: boolean, mark: string, chosen: boolean) {
  return { role: 'button', 'data-n': step.number, tabindex: tabbed ? 0 : -1, 'aria-pressed': chosen, 'data-look': lookOf(step), 'data-mark': mark } as const
}

interface PillsProps { steps: Step[]; spots: Map<number, Spot>; box: Box; numbered: boolean; all: Links; tabbed: number; markOf: (n: number) => string }

// Pills draws many steps without titles, with one element a step, one for all signs of a look, and one for all bars of a risk.
function Pills({ steps, spots, box, numbered, all, tabbed, markOf }: PillsProps) {
  const drawn = steps.flatMap(step => { const spot = spots.get(step.number); return spot ? [{ step, spot, name: nameOf(step, all) }] : [] })
  return (
    <>
      {drawn.map(({ step, spot, name }) => <rect key={step.number} class="node node-box" x={spot.x - box.width / 2} y={spot.y - box.height / 2} width={box.width}
        height={box.height} rx={5} aria-label={name} {...attributes(step, step.number === tabbed, markOf(step.number), step.number === selected.value)} />)}
      {useMemo(() => <Signs drawn={drawn} box={box} numbered={numbered} />, [steps, spots, numbered])}
    </>
  )
}

function Signs({ drawn, box, numbered }: { drawn: { step: Step; spot: Spot }[]; box: Box; numbered: boolean }) {
  const looks = new Map<Look, string[]>(), risks = new Map<string, string>()
  for (const { step, spot: { x, y } } of drawn) {
    const [circle, sign] = looks.get(lookOf(step)) ?? ['', ''], r = 4.5, at = x - box.width / 2 + 12
    looks.set(lookOf(step), [`${circle}M${at - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`, sign + signOf(step, r, at, y)])
    if (step.risk === 'high' || step.risk === 'medium')
      risks.set(step.risk, `${risks.get(step.risk) ?? ''}M${x + box.width / 2 - 4} ${y - box.height / 2 + 0.5}h3.5v${box.height - 1}h-3.5z`)
  }
  return (
    <g class="signs" aria-hidden="true">
      {[...risks].map(([risk, d]) => <path key={risk} class="node-risk" data-risk={risk} d={d} />)}
      {[...looks].map(([look, [circle, sign]]) => (
        <g key={look} data-look={look}>
          <path class="glyph" d={circle} />
          {sign && <path class={look === 'running' ? 'half' : ''} d={sign} stroke-width={1.44} />}
        </g>
      ))}
      {numbered && <text>{drawn.map(({ step, spot }) => <tspan key={step.number} x={spot.x + 5} y={spot.y + 5}>{step.number}</tspan>)}</text>}
    </g>
  )
}

// Node redraws itself only if its own data has changed.
function Node({ level, step, spot, box, tabbed, name, mark, chosen }: NodeProps) {
  const risky = step.risk === 'high' || step.risk === 'medium'
  return useMemo(() => (
    <g class="node" transform={`translate(${spot.x - box.width / 2} ${spot.y - box.height / 2})`} {...attributes(step, tabbed, mark, chosen)}>
      <title>{name}</title>
      <rect class="node-box" width={box.width} height={box.height} rx={box.roomy ? 6 : 5} />
      {risky && <rect class="node-risk" data-risk={step.risk} x={box.width - 4} y={0.5} width={3.5} height={box.height - 1} rx={2} />}
      {box.roomy ? card(step, box.width, level) : pill(step, box)}
    </g>
  ), [level, step, spot, box, tabbed, name, mark, chosen])
}

// card and pill return the content of a box: as components they would cost half as much again.
function card(step: Step, width: number, level: Level) {
  if (level === 'far') {
    return <>{glyph(step, 22, 29, 9)}<text class="far-number" x={40} y={39}>{step.number}</text></>
  }
  if (level === 'middle') {
    const lines = wrapped(step.title, width - 70, 15, 2)
    return (
      <>
        {glyph(step, 13, 29, 6)}
        <text class="middle-number" x={25} y={34.5}>{step.number}</text>
        {lines.map((line, i) => <text key={i} class="middle-title" x={58} y={(lines.length > 1 ? 25 : 34) + i * 19}>{line}</text>)}
      </>
    )
  }
  const words = [lookOf(step) !== 'open' && wordOf(step), step.risk !== 'low' && step.risk && `${step.risk} risk`]
  return (
    <>
      {glyph(step, 15, 14.5, 5)}
      <text class="node-number" x={26} y={18.5}>{step.number}</text>
      <text class="node-word" x={width - 11} y={18} text-anchor="end">{words.filter(Boolean).join(' · ')}</text>
      {wrapped(step.title, width - 26, 12, 2).map((line, i) => <text key={i} class="node-title" x={10} y={35 + i * 14.5}>{line}</text>)}
    </>
  )
}

function pill(step: Step, box: Box) {
  return (
    <>
      {glyph(step, 6, 6, 2.2)}
      <text class="pill-near" x={10.5} y={7.8}>{step.number}</text>
      {wrapped(step.title, box.width - 9, 4.6, 3).map((line, i) => <text key={i} class="pill-title" x={3.5} y={14 + i * 5.4}>{line}</text>)}
    </>
  )
}

// glyph shows the status by a shape, for people with colour blindness.
function glyph(step: Step, x: number, y: number, r: number) {
  const sign = signOf(step, r)
  if (!sign) return <circle class="glyph" cx={x} cy={y} r={r} />
  return (
    <g transform={`translate(${x} ${y})`}>
      <circle class="glyph" r={r} />
      <path class={lookOf(step) === 'running' ? 'half' : ''} d={sign} stroke-width={r * 0.32} />
    </g>
  )
}

// signOf returns the path inside a glyph of a radius.
function signOf(step: Step, r: number, x = 0, y = 0): string {
  const s = r * 0.5, at = (dx: number, dy: number) => `M${x + dx} ${y + dy}`
  switch (lookOf(step)) {
    case 'done': return `${at(-s, 0)}l${s * 0.8} ${s * 0.8}l${s * 1.2} ${-s * 1.5}`
    case 'wrong': return `${at(-s, -s)}l${2 * s} ${2 * s}${at(s, -s)}l${-2 * s} ${2 * s}`
    case 'gone': return `${at(-s, 0)}h${2 * s}`
    case 'waiting': return `${at(0, -s * 1.2)}v${s * 1.5}${at(0, s * 1.1)}v${s * 0.1}`
    case 'running': return `${at(0, -r)}a${r} ${r} 0 0 1 0 ${2 * r}z`
    default: return ''
  }
}

// wrapped breaks a text into lines, since SVG does not. Widths are estimated, as fonts differ.
function wrapped(text: string, width: number, size: number, most: number): string[] {
  const wide = (part: string) => [...part].reduce((sum, c) => sum + (/[iljtfrI.,:;'`|()[\] ]/.test(c) ? 0.36 : /[mwMW@%]/.test(c) ? 0.93 : /[A-Z]/.test(c) ? 0.7 : c > '\u2e80' ? 1 : 0.59), 0) * size
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line && wide(line + ' ' + word) > width) { lines.push(line); line = word } else line = line ? line + ' ' + word : word
  }
  lines.push(line)
  const fits = lines.slice(0, most)
  if (lines.length > most) fits[most - 1] += ' …'
  return fits.map(l => {
    while (wide(l) > width && l.length > 2) l = l.replace(/\s?…$/, '').slice(0, -1) + '…'
    return l
  })
}

function Caption({ step, all, steps, grid }: { step: Step | undefined; all: Links; steps: Step[]; grid: boolean | undefined }) {
  if (!step) {
    const words = new Map<string, number>()
    for (const s of steps) words.set(wordOf(s), (words.get(wordOf(s)) ?? 0) + 1)
    return (
      <p class="graph-caption">
        <span>{steps.length} {steps.length === 1 ? 'step' : 'steps'}: {[...words].map(([word, n]) => `${n} ${word}`).join(', ')}.</span>
        <span class="soft">{grid ? 'Too many steps to draw every line: choose a step to see its own.' : 'Lines lead from a step to the steps that wait for it. Redundant lines are left out.'}</span>
      </p>
    )
  }
  const before = all.before.get(step.number)!, after = all.after.get(step.number)!
  return (
    <p class="graph-caption">
      <span><b>{step.number}</b> <span class="soft">{wordOf(step)}{step.risk ? `, ${step.risk} risk` : ''}</span> {step.title}</span>
      <span class="soft">
        {before.length ? <span class="mark-before">waits for {listed(before)}</span> : 'waits for nothing'}
        {' · '}
        {after.length ? <span class="mark-after">{listed(after)} wait{after.length === 1 ? 's' : ''} for it</span> : 'nothing waits for it'}
        {narrow.value && step.number === selected.value && <>{' · '}<button class="link" onClick={() => { pane.value = 'plan' }}>read it</button></>}
      </span>
    </p>
  )
}

// useRoom returns the room for the picture; it changes only when the room changes a lot.
function useRoom(frame: { current: HTMLDivElement | null }): Room | undefined {
  const [room, set] = useState<Room>()
  useLayoutEffect(() => {
    let seen = ''
    const look = () => {
      const on = frame.current, at = `${on?.clientWidth} ${innerHeight}`
      if (!on || at === seen) return // the picture has changed the height: measuring again would lay it out twice more
      seen = at
      const held = on.style.height
      on.style.height = ''
      const now = { width: on.clientWidth || 1, height: on.clientHeight || 1 }
      on.style.height = held
      const other = (a: number, b: number) => a > b * 1.25 || b > a * 1.25
      set(was => was && !other(was.width, now.width) && !other(was.height, now.height) ? was : now)
    }
    look()
    const sized = new ResizeObserver(look)
    sized.observe(frame.current!)
    addEventListener('resize', look)
    return () => { sized.disconnect(); removeEventListener('resize', look) }
  }, [])
  return room
}

interface Looking { prepare: (made: Layout) => void; zoom: (by: number) => void; fit: () => void; reveal: (spot: Spot) => void; centre: (spot: Spot) => void; dragged: () => boolean }

// useWindow shows a part of the picture through the viewBox, which is set without redrawing.
function useWindow(frame: { current: HTMLDivElement | null }, svg: { current: SVGSVGElement | null }, made: Layout | undefined, level: Signal<Level>): Looking {
  const held = useRef({ x: 0, y: 0, k: 1, fitted: true, dragged: false, made, level, shape: '' })
  held.current.made = made
  const looking = useMemo(() => windowOn(frame, svg, held.current), [])
  useLayoutEffect(() => {
    const spot = made?.spots.find(s => s.n === selected.value)
    if (spot && !held.current.fitted) looking.centre(spot) // a zoomed-in user continues to see the same step
    else if (made) looking.prepare(made)
  }, [made])
  useEffect(() => looking.listen(), [])
  return looking
}

interface Held { x: number; y: number; k: number; fitted: boolean; dragged: boolean; made: Layout | undefined; level: Signal<Level>; shape: string; prepared?: Layout }

const foot = 40 // pixels for the buttons at the foot of the picture

function windowOn(frame: { current: HTMLDivElement | null }, svg: { current: SVGSVGElement | null }, held: Held) {
  const room = () => ({ w: frame.current?.clientWidth || 1, h: frame.current?.clientHeight || 1 })
  const show = () => {
    const { w, h } = room(), of = svg.current, { made } = held
    if (!of || !made) return
    const [vw, vh] = [w / held.k, h / held.k]
    const within = (at: number, size: number, whole: number, below = 0) => size >= whole + below ? (whole + below - size) / 2 : Math.min(Math.max(at, -size / 4), whole - size * 0.75)
    held.x = within(held.x, vw, made.width)
    held.y = within(held.y, vh, made.height, foot / held.k)
    of.setAttribute('viewBox', [held.x, held.y, vw, vh].map(n => n.toFixed(2)).join(' '))
    held.level.value = made.box.roomy ? (held.k < 0.4 ? 'far' : held.k < 0.72 ? 'middle' : 'near') : held.k > 1.9 ? 'near' : held.k < 0.4 ? 'farthest' : 'far'
  }
  const whole = () => { const { w, h } = room(); return held.made ? Math.min(w / held.made.width, (h - foot) / held.made.height) : 1 }
  const shape = () => `${frame.current?.clientWidth} ${frame.current?.clientHeight} ${innerHeight}`
  const fit = () => {
    if (held.made && frame.current) { // not taller than its content
      const whole = Math.min(frame.current.clientWidth / held.made.width, 1.15) * held.made.height + foot
      frame.current.style.height = ''
      if (whole < frame.current.clientHeight) frame.current.style.height = `${Math.max(220, Math.ceil(whole))}px`
    }
    held.k = Math.min(whole(), 1.15)
    held.x = held.y = 0
    held.fitted = true
    held.shape = shape()
    show()
  }
  // prepare fits a picture before its steps are there: the browser lays their texts out again with every change of scale.
  const prepare = (made: Layout) => {
    if (!held.fitted || made === held.prepared) return
    held.made = held.prepared = made
    fit()
  }
  const zoomAt = (by: number, px: number, py: number) => {
    const k = Math.min(Math.max(held.k * by, Math.min(whole(), 0.3)), held.made?.box.roomy ? 1.6 : 2.8)
    held.x += px / held.k - px / k
    held.y += py / held.k - py / k
    held.k = k
    held.fitted = false
    show()
  }
  const zoom = (by: number) => { const { w, h } = room(); zoomAt(by, w / 2, h / 2) }
  const pan = (dx: number, dy: number) => { held.x -= dx / held.k; held.y -= dy / held.k; held.fitted = false; show() }
  const reveal = (spot: Spot) => {
    const { w, h } = room(), [vw, vh] = [w / held.k, h / held.k], edge = 40 / held.k
    const box = held.made?.box ?? { width: 0, height: 0 }
    const into = (at: number, size: number, low: number, high: number) => low < at + edge ? low - edge : high > at + size - edge ? high - size + edge : at
    held.x = into(held.x, vw, spot.x - box.width / 2, spot.x + box.width / 2)
    held.y = into(held.y, vh, spot.y - box.height / 2, spot.y + box.height / 2)
    show()
  }
  const centre = (spot: Spot) => {
    const { w, h } = room()
    held.x = spot.x - w / held.k / 2
    held.y = spot.y - h / held.k / 2
    show()
  }
  const listen = () => {
    const on = frame.current
    if (!on) return undefined
    const ended = new AbortController()
    const { signal } = ended
    const down = new Map<number, { x: number; y: number }>()
    on.addEventListener('pointerdown', e => {
      if (e.button !== 0 || (e.target as Element).closest('button')) return
      down.set(e.pointerId, { x: e.clientX, y: e.clientY })
      held.dragged = false
    }, { signal })
    on.addEventListener('pointermove', e => {
      const was = down.get(e.pointerId)
      if (!was) return
      const [dx, dy] = [e.clientX - was.x, e.clientY - was.y]
      if (!held.dragged && Math.hypot(dx, dy) < 4) return
      if (!held.dragged) on.setPointerCapture(e.pointerId) // a click stays on its step
      held.dragged = true
      const other = [...down].find(([id]) => id !== e.pointerId)?.[1]
      const edge = on.getBoundingClientRect()
      if (other) {
        const far = Math.hypot(was.x - other.x, was.y - other.y) || 1
        zoomAt(Math.hypot(e.clientX - other.x, e.clientY - other.y) / far, (e.clientX + other.x) / 2 - edge.left, (e.clientY + other.y) / 2 - edge.top)
        pan(dx / 2, dy / 2)
      } else pan(dx, dy)
      down.set(e.pointerId, { x: e.clientX, y: e.clientY })
    }, { signal })
    for (const end of ['pointerup', 'pointercancel'] as const) on.addEventListener(end, e => { down.delete(e.pointerId) }, { signal })
    on.addEventListener('wheel', e => {
      e.preventDefault()
      const edge = on.getBoundingClientRect()
      const unit = e.deltaMode === 1 ? 16 : 1
      if (e.shiftKey) pan(-e.deltaY * unit, 0)
      else if (e.deltaX && !e.ctrlKey) pan(-e.deltaX * unit, -e.deltaY * unit)
      else zoomAt(Math.exp(-e.deltaY * unit * (e.ctrlKey ? 0.01 : 0.0016)), e.clientX - edge.left, e.clientY - edge.top)
    }, { signal, passive: false })
    const sized = new ResizeObserver(() => { if (!held.fitted) show(); else if (shape() !== held.shape) fit() })
    sized.observe(on)
    addEventListener('beforeprint', () => {
      if (!held.made || !svg.current) return
      svg.current.setAttribute('viewBox', `0 0 ${held.made.width} ${held.made.height}`)
      on.style.aspectRatio = `${held.made.width} / ${held.made.height}`
    }, { signal })
    addEventListener('afterprint', () => { on.style.aspectRatio = ''; show() }, { signal })
    return () => { ended.abort(); sized.disconnect() }
  }
  return { prepare, zoom, fit, reveal, centre, dragged: () => held.dragged, listen }
}
