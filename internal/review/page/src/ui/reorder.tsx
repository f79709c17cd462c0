// Moving a step: by its grip, by Alt and the arrow keys, by two buttons in its panel. It can go only after the steps it waits for and
// before those that wait for it; other places are shown with the reason.

import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { bind } from '../keys'
import { type Gap, gaps, next } from '../order'
import { act, aim, busy, current, mayDecide, pane, selected, shown, showsDraft, swapped, told, view } from '../store'
import type { Step } from '../types'
import { focus } from './focus'
import { Sign } from './icons'

// mayMove: a draft can be reordered while it waits, a plan while it is active.
export function mayMove(): boolean {
  if (!mayDecide.value || busy.value || (shown.value?.steps.length ?? 0) < 2) return false
  return showsDraft.value ? !swapped.value : (shown.value?.status === 'active' && !(current.value && view.value?.draft))
}

const why = (gap: Gap) => `Cannot move there: ${gap.why}.`

async function move(number: number, gap: Gap): Promise<void> {
  if (gap.why) {
    told.value = why(gap)
    return
  }
  const done = await act('move_step', { ...aim(), step: number, after: gap.after })
  if (!done) return
  told.value = gap.after ? `Step ${number} is now after step ${gap.after}.` : `Step ${number} is now first.`
  focus('step-' + number)
}

function shift(number: number, way: -1 | 1): void {
  const gap = next(shown.value?.steps ?? [], number, way)
  if (gap) void move(number, gap)
  else told.value = way < 0 ? `Step ${number} is already first.` : `Step ${number} is already last.`
}

// Reordering handles the keys, and shows the target of a dragged step.
export function Reordering() {
  useLayoutEffect(() => {
    const can = () => pane.value === 'plan' && selected.value > 0 && mayMove()
    return bind(
      { keys: ['Alt+ArrowUp'], what: 'Move the step up', group: 'Steps', when: can, run: () => shift(selected.value, -1) },
      { keys: ['Alt+ArrowDown'], what: 'Move the step down', group: 'Steps', when: can, run: () => shift(selected.value, 1) },
    )
  }, [])
  const d = drag.value
  if (!d) return null
  return (
    <div class={`drop${d.gap?.why ? ' barred' : ''}`} aria-hidden="true" style={{ left: `${d.left}px`, top: `${d.top}px`, width: `${d.width}px` }}>
      <span>{d.gap?.why ? why(d.gap) : d.gap?.here ? `${d.number} stays` : d.gap?.after ? `${d.number} after ${d.gap.after}` : `${d.number} first`}</span>
    </div>
  )
}

// MoveButtons are for users without a pointer or an Alt key.
export function MoveButtons({ step: s }: { step: Step }) {
  if (!mayMove()) return null
  const all = shown.value?.steps ?? []
  const button = (way: -1 | 1, label: string, sign: string) => {
    const gap = next(all, s.number, way)
    return <button class="small" aria-disabled={!gap || !!gap.why} title={gap?.why ? why(gap) : label} aria-label={`${label}: step ${s.number}`} onClick={() => shift(s.number, way)}>{sign}</button>
  }
  return <>{button(-1, 'Move up', '↑')}{button(1, 'Move down', '↓')}</>
}

interface Drag { number: number; gap: Gap | undefined; left: number; top: number; width: number }

const drag = signal<Drag | null>(null)

export function Grip({ step: s }: { step: Step }) {
  if (!mayMove()) return null
  return (
    <span class="grip" title="Drag to another place (Alt+↑, Alt+↓)" aria-hidden="true"
      onPointerDown={e => { if (e.button === 0) { e.preventDefault(); begin(e, s.number) } }}><Sign of="grip" /></span>
  )
}

// begin follows the pointer until its release, anywhere: the row where it began may scroll out of view.
function begin(from: PointerEvent, number: number): void {
  const list = (from.currentTarget as Element).closest<HTMLElement>('.steps'), steps = shown.value?.steps
  if (!list || !steps) return
  const places = new Map(gaps(steps, number).map(gap => [gap.after, gap]))
  const previous = new Map(steps.map((s, i) => [s.number, steps[i - 1]?.number ?? 0])) // the step before each step
  const ended = new AbortController(), { signal } = ended
  list.setPointerCapture(from.pointerId)
  list.dataset.dragging = ''
  let y = from.clientY, scrolling = 0
  const rows = () => [...list.querySelectorAll<HTMLElement>(':scope > [data-step]')].map(row => ({ row, n: Number(row.dataset.step), box: row.getBoundingClientRect() })).sort((a, b) => a.box.top - b.box.top)
  const look = () => {
    const all = rows()
    const below = all.find(r => y < r.box.top + r.box.height / 2), last = all.at(-1)
    const before = below ? previous.get(below.n)! : last?.n ?? 0
    const after = before === number ? previous.get(number)! : before // its own place, from below
    const box = list.getBoundingClientRect()
    drag.value = { number, gap: places.get(after), left: box.left, width: box.width, top: below ? below.box.top : last?.box.bottom ?? box.top }
    for (const r of all) {
      r.row.toggleAttribute('data-dragged', r.n === number)
      r.row.toggleAttribute('data-barred', r.n !== number && !!places.get(r.n)?.why && !!places.get(previous.get(r.n) === number ? previous.get(number)! : previous.get(r.n)!)?.why)
    }
  }
  const scroll = () => {
    const edge = 56, by = y < edge + 60 ? -10 : y > innerHeight - edge ? 10 : 0
    if (by) {
      const main = list.closest('main')
      if (main && main.scrollHeight > main.clientHeight) main.scrollBy(0, by)
      else scrollBy(0, by)
      look()
    }
    scrolling = requestAnimationFrame(scroll)
  }
  const end = (drop: boolean) => {
    const gap = drag.value?.gap
    ended.abort()
    cancelAnimationFrame(scrolling)
    delete list.dataset.dragging
    for (const r of rows()) { r.row.removeAttribute('data-dragged'); r.row.removeAttribute('data-barred') }
    drag.value = null
    if (drop && gap && !gap.here) void move(number, gap)
  }
  list.addEventListener('pointermove', e => { if (e.pointerId === from.pointerId) { y = e.clientY; look() } }, { signal })
  list.addEventListener('pointerup', e => { if (e.pointerId === from.pointerId) end(true) }, { signal })
  list.addEventListener('pointercancel', () => { end(false) }, { signal })
  document.addEventListener('keydown', e => { if (e.key === 'Escape') { e.preventDefault(); e.stopPropagation(); end(false) } }, { signal, capture: true })
  look()
  scrolling = requestAnimationFrame(scroll)
}
