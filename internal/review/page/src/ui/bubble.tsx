// The buttons at a selected passage of a step, and the keys that select one block by block.

import { useEffect, useLayoutEffect } from 'preact/hooks'
import { bind } from '../keys'
import { begun, followSelection, passage, readSelection, type Remark } from '../passage'
import { editing, mayDecide, phone, selected, shown, showsDraft, told, view } from '../store'
import { commentOn, keepComment } from '../unsent'
import { focus } from './focus'

const remarks: { how: Remark; name: string; key: string; what: string }[] = [
  { how: 'comment', name: 'Comment', key: 'c', what: 'Comment on the selected text' },
  { how: 'suggest', name: 'Suggest', key: 's', what: 'Suggest other words for the selected text' },
  { how: 'remove', name: 'Remove', key: 'x', what: 'Ask to remove the selected text' },
]

export function Bubble() {
  useEffect(() => followSelection(document), [])
  useLayoutEffect(() => {
    const has = () => !!passage.value && mayDecide.value, group = 'Text of a step' as const
    return bind(
      { keys: ['ArrowRight'], what: 'Select a block of text in the chosen step', group, when: () => mayDecide.value && !passage.value && blocks().length > 0, run: () => go(1) },
      { keys: ['ArrowDown'], what: 'Select the next block', group, over: true, when: has, run: () => go(1) },
      { keys: ['ArrowUp'], what: 'Select the block before', group, over: true, when: has, run: () => go(-1) },
      { keys: ['Enter'], what: 'Buttons for the selected text', group, over: true, when: () => has() && !document.activeElement?.closest('.bubble'), run: () => document.querySelector<HTMLElement>('.bubble button')?.focus() },
      { keys: ['Escape', 'ArrowLeft'], what: 'Back to the step', group, over: true, when: has, run: leave },
      ...remarks.map(r => ({ keys: [r.key], what: r.what, group, over: true, when: has, run: () => remark(r.how) })),
    )
  }, [])
  const p = passage.value
  if (!p || !mayDecide.value) return null
  const turn = (e: KeyboardEvent) => {
    const to = e.key === 'ArrowRight' ? 'nextElementSibling' : e.key === 'ArrowLeft' ? 'previousElementSibling' : undefined
    if (!to || !(e.target instanceof Element)) return
    e.preventDefault()
    if (e.target[to] instanceof HTMLElement) e.target[to].focus()
  }
  return (
    <div class="bubble" role="toolbar" aria-label="On the selected text" onKeyDown={turn} onMouseDown={e => { e.preventDefault() /* keeps the selection */ }}
      style={phone.value ? undefined : { left: `${Math.min(p.at.left, innerWidth - 320)}px`, top: `${Math.min(p.at.top + 6, innerHeight - 56)}px` }}>
      {remarks.map(r => <button key={r.how} title={r.what} onClick={() => remark(r.how)}>{r.name} <kbd>{r.key}</kbd></button>)}
    </div>
  )
}

// blocks returns the blocks of text in the chosen step's fields: paragraphs, entries of lists, rows of tables, code.
function blocks(): HTMLElement[] {
  const kinds = ':is(p, li, pre, tr)', all = document.querySelectorAll<HTMLElement>(`.step[data-step="${selected.value}"] [data-field] ${kinds}`)
  return [...all].filter(block => block.textContent?.trim() && !block.querySelector(kinds))
}

// go selects the next block of the chosen step, or the one before.
function go(by: number): void {
  const all = blocks(), selection = document.getSelection(), from = passage.value && selection?.rangeCount ? selection.getRangeAt(0).startContainer : null
  const block = all[Math.min(all.length - 1, Math.max(0, from ? all.findIndex(b => b.contains(from)) + by : 0))]
  if (!block) return
  selection?.selectAllChildren(block)
  readSelection(document)
  block.scrollIntoView({ block: 'nearest' })
  told.value = `${block.closest<HTMLElement>('[data-field]')?.dataset.field}: ${block.textContent}`
}

// leave ends the selection.
function leave(): void {
  const step = passage.value?.step
  document.getSelection()?.removeAllRanges()
  passage.value = null
  if (step) focus('step-' + step)
}

// remark begins a remark in the step's field for comments. The wish to remove a passage is complete: in a plan that waits it goes with the
// decision.
function remark(how: Remark): void {
  const p = passage.value, steps = shown.value?.steps ?? [], step = steps.find(s => s.number === p?.step)
  if (!p || !step) return
  const text = begun(how, p), field = commentOn(step, steps)
  leave()
  if (how === 'remove' && showsDraft.value && view.value?.draft?.decidable) {
    keepComment(step.number, `${step.number}. ${step.title}`, text)
    return
  }
  field.value = (field.value.trim() ? field.value.trimEnd() + '\n' : '') + text
  selected.value = step.number
  editing.value = false
  requestAnimationFrame(() => requestAnimationFrame(() => { // once the field is drawn with its text
    const area = document.getElementById(`comment-${step.number}`)
    if (!(area instanceof HTMLTextAreaElement)) return
    area.focus()
    const end = area.value.length - (how === 'suggest' ? 1 : 0)
    area.setSelectionRange(end - (how === 'suggest' ? p.quote.length : 0), end)
  }))
}
