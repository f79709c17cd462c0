// Matches the steps of two forms of a plan: numbers change, so the selection and unsent texts follow their step.

import { effect } from '@preact/signals'
import { counterpart } from './difference'
import { commentOn, editOf } from './unsent'
import { busy, editing, former, selected, shown, skipping, workspace } from './store'
import type { Plan } from './types'

// followSteps keeps the selection and unsent texts with their step through every change of the plan.
export function followSteps(): () => void {
  let last: { workspace: string; plan: Plan } | undefined
  return effect(() => {
    const plan = former.value ? undefined : shown.value, before = last?.workspace === workspace.value ? last.plan : undefined
    if (plan) last = { workspace: workspace.value, plan }
    if (!plan || !before || before.steps === plan.steps) return
    const was = before.steps, now = plan.steps, d = plan.difference
    for (const step of was) {
      const to = counterpart(step, was, now, d), said = commentOn(step, was)
      if (!to && said.peek()) {
        const whole = commentOn(undefined, now)
        whole.value = [whole.peek(), `On “${step.title}”: ${said.peek()}`].filter(Boolean).join('\n')
        said.value = ''
      }
      if (to && to.title !== step.title) for (const field of [commentOn, editOf]) {
        const from = field(step, was), into = field(to, now)
        if (!from.peek() || into.peek() || (field === editOf && busy.peek() === 'edit_step')) continue // otherwise it was just saved
        into.value = from.peek()
        from.value = ''
      }
    }
    const chosen = was.find(s => s.number === selected.peek())
    if (!chosen) return
    const to = counterpart(chosen, was, now, d)
    if (to?.number === chosen.number) return
    selected.value = to?.number ?? 0
    skipping.value = 0
    if (!to) editing.value = false
  })
}
