// The buttons at a selected passage of a step.

import { useEffect, useLayoutEffect } from 'preact/hooks'
import { bind } from '../keys'
import { begun, followSelection, passage, type Remark } from '../passage'
import { editing, mayDecide, phone, selected, shown, showsDraft, view } from '../store'
import { commentOn, keepComment } from '../unsent'

const remarks: { how: Remark; name: string; key: string; what: string }[] = [
  { how: 'comment', name: 'Comment', key: 'c', what: 'Comment on the selected text' },
  { how: 'suggest', name: 'Suggest', key: 's', what: 'Suggest other words for the selected text' },
  { how: 'remove', name: 'Remove', key: 'x', what: 'Ask to remove the selected text' },
]

export function Bubble() {
  useEffect(() => followSelection(document), [])
  useLayoutEffect(() => bind(...remarks.map(r => (
    { keys: [r.key], what: r.what, group: 'Steps' as const, when: () => !!passage.value && mayDecide.value, run: () => remark(r.how) }))), [])
  const p = passage.value
  if (!p || !mayDecide.value) return null
  return (
    <div class="bubble" role="toolbar" aria-label="On the selected text" style={phone.value ? undefined : { left: `${p.at.left}px`, top: `${p.at.top + 6}px` }}
      onMouseDown={e => { e.preventDefault() /* keeps the selection */ }}>
      {remarks.map(r => <button key={r.how} title={r.what} onClick={() => remark(r.how)}>{r.name} <kbd>{r.key}</kbd></button>)}
    </div>
  )
}

// remark begins a remark in the step's field for comments. The wish to remove a passage is complete: in a plan that waits it goes with the
// decision.
function remark(how: Remark): void {
  const p = passage.value, steps = shown.value?.steps ?? [], step = steps.find(s => s.number === p?.step)
  if (!p || !step) return
  const text = begun(how, p), field = commentOn(step, steps)
  document.getSelection()?.removeAllRanges()
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
