// Planning mode: agents read and ask, and change nothing until a person has approved a plan.

import { useSignal } from '@preact/signals'
import { typed } from '../unsent'
import { act, busy, mayDecide, view } from '../store'
import { Prose } from './prose'

// Gathering says that an agent is working on a plan, or on a change of the approved one, and lets a person cancel it.
export function Gathering() {
  const sure = useSignal(false), v = view.value
  const returned = v?.draft?.decidable ? undefined : v?.draft?.returned, gathers = v?.phase === 'gathering'
  if (!v || !gathers && !returned) return null
  return (
    <section class="decision quiet-bar" aria-label="Planning mode">
      <div class="decision-line">
        <p class="what">
          <b>{returned ? 'Changes requested; the agent is revising the plan' : 'Planning mode is on'}</b>
          {!returned && <span class="soft">Agents can read and ask, but change nothing until you approve a plan. The plan will appear here.</span>}
        </p>
        {mayDecide.value && (sure.value ? (
          <div class="buttons">
            <button class="danger" autofocus disabled={!!busy.value} onClick={() => act('cancel_mode', {})}>{gathers ? 'End without a plan' : 'Drop the change'}</button>
            <button onClick={() => { sure.value = false }}>Keep it</button>
          </div>
        ) : <button onClick={() => { sure.value = true }}>{gathers ? 'End planning mode…' : 'Drop the change…'}</button>)}
      </div>
      {v.draft?.warnings?.map(({ text }, i) => <p key={i} class="aside-line waits"><Prose of={text} /></p>)}
    </section>
  )
}

// AskForPlan requests a plan from agents before they act.
export function AskForPlan() {
  const task = typed('task')
  if (!mayDecide.value || view.value?.phase !== 'inactive') return null
  const send = async (e: Event) => {
    e.preventDefault()
    if (task.value.trim() && await act('enter_mode', { task: task.value.trim() })) task.value = ''
  }
  return (
    <form class="ask-plan" onSubmit={send}>
      <label for="task">Have agents plan before they act</label>
      <div class="answer">
        <input id="task" placeholder="What should be planned?" value={task.value} onInput={e => { task.value = e.currentTarget.value }} />
        <button disabled={!task.value.trim() || !!busy.value}>Start planning mode</button>
      </div>
    </form>
  )
}
