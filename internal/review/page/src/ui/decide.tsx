// The decision bar: the requester, the request, its time limit, and the ways to decide. It stays in view: on top, on a phone at the bottom.

import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { bind } from '../keys'
import { dropComments, pending, restored, typed } from '../unsent'
import { acknowledge, act, asked, type Asked, busy, clock, current, mayDecide, pane, seen, selected, settling, swapped, view } from '../store'
import { PendingButtons } from './comments'
import { Prose } from './prose'
import { answered, answersOf, forget, ToQuestions, unanswered } from './questions'
import { ago, count, hostName, sentence } from './format'
import type { Draft } from '../types'
import { differing } from '../difference'
import { focus } from './focus'
import { Undone } from './undone'

const deciding = () => !!view.value?.draft?.decidable && mayDecide.value && !busy.value && !swapped.value
const acceptsEdits = signal(false) // the host need not ask before it edits files
const approvable = (draft?: Draft) => !draft?.outdated && !draft?.no_vote
const approving = () => deciding() && approvable(view.value?.draft)

export function DecisionBar() {
  const v = view.value, draft = v?.draft
  useLayoutEffect(() => bind(
    { keys: ['a'], what: 'Go to Approve; Enter presses it', group: 'Deciding', when: approving, run: () => { document.getElementById('approve')?.focus() } },
    { keys: ['f'], what: 'Ask for changes', group: 'Deciding', when: deciding, run: () => { ask('return') } },
    { keys: ['e'], what: 'Go to the field for changes, if no step is chosen', group: 'Deciding', when: () => deciding() && (!selected.value || pane.value !== 'plan'), run: () => { asked.value = ''; ask('return') } },
    { keys: ['r'], what: 'Reject the plan', group: 'Deciding', when: deciding, run: () => { ask('reject') } },
  ), [])
  if (!v || !draft?.decidable) return null
  return (
    <section class="decision" aria-label="Decision">
      <p class="what">
        <b>{`${draft.changes ? 'A change to the plan' : 'A plan'} is waiting for ${draft.no_vote ? 'other members' : 'your decision'}`}</b>
        <span class="soft small">
          {hostName(draft.by)}, since <time dateTime={draft.at} title={ago(draft.at, clock.value)}>{clockTime(draft.at)}</time>
          {draft.expires && <span class="until" title="Without a decision until then, it counts as rejected">; ends at {clockTime(draft.expires)}</span>}
          {draft.changes && !draft.archives && <span class="until">. The approved plan continues.</span>}
        </span>
        {mayDecide.value && <ToQuestions />}
      </p>
      <div class="decision-bar">
        {mayDecide.value ? <Buttons /> : <p class="cannot"><Prose of={sentence(v.can.why ?? 'you cannot decide here')} /></p>}
        {mayDecide.value && asked.value && <WithWords how={asked.value} />}
        {mayDecide.value && <PendingComments />}
      </div>
      {mayDecide.value && swapped.value && <ChangedNotice was={swapped.value} now={draft} />}
      {draft.outdated && <p class="aside-line">{sentence(draft.outdated)}</p>}
      {draft.no_vote && <p class="aside-line"><Prose of={sentence(draft.no_vote)} /></p>}
      {draft.warnings?.map(({ text }, i) => <p key={i} class="aside-line waits"><Prose of={text} /></p>)}
      {draft.archives && <p class="aside-line">Approving it archives the active plan “{draft.archives}”.</p>}
      {draft.plan.other?.filter(o => o.label === 'Earlier decision').map(o => <p key={o.label} class="aside-line">This is a former plan. It was <Prose of={o.text} /></p>)}
      {!!draft.undone?.length && pane.value !== 'difference' && <div class="unsettled" role="group" aria-label="To settle first" tabIndex={0}><Undone draft={draft} /></div>}
    </section>
  )
}

function clockTime(at: string): string {
  return new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
}

function ask(how: Asked): void {
  asked.value = asked.value === how ? '' : how
  if (asked.value) focus('decision-words')
}

// ChangedNotice warns before the buttons if the plan changed after it was seen: they wait until the new one was seen.
function ChangedNotice({ was, now }: { was: Draft; now: Draft }) {
  const { at } = now.request === was.request && now.edited ? now.edited : now, n = differing(was.plan, now.plan)
  return (
    <div class="notice is-waiting swapped" role="alert">
      <b>This plan was changed at {clockTime(at)}: {n ? count(n, 'step') : 'text outside the steps'}.</b>{' '}
      <span class="soft">Review the change before you decide.</span>{' '}
      {now.plan.difference && <button class="small" onClick={() => { pane.value = 'difference' }}>Show changes</button>}{' '}
      <button class="small primary" disabled={settling.value} onClick={acknowledge}>I have seen it</button>
    </div>
  )
}

// Buttons are the two usual decisions, and a menu of the rest.
function Buttons() {
  const menu = useRef<HTMLDetailsElement>(null)
  const off = !!busy.value || !!swapped.value, draft = view.value?.draft, can = approvable(draft)
  const open = unanswered().length
  const close = (back: boolean) => {
    if (!menu.current?.open) return
    menu.current.open = false
    if (back) menu.current.querySelector('summary')?.focus()
  }
  const other = (how: Exclude<Asked, ''>, name: string) => <button disabled={off} onClick={() => { close(false); ask(how) }}>{name}</button>
  return (
    <div class="buttons">
      {draft?.host_edits && can && (
        <label class="small" title={`Otherwise ${draft.host} asks you before each edit of a file`}>
          <input type="checkbox" checked={acceptsEdits.value} onChange={e => { acceptsEdits.value = e.currentTarget.checked }} /> Accept edits
        </label>
      )}
      {can && <button id="approve" class="primary" disabled={off} onClick={() => decide('approve')}>Approve{open ? `, ${open} unanswered` : ''}</button>}
      <button disabled={off} aria-expanded={asked.value === 'return'} onClick={() => ask('return')}>Ask for changes…</button>
      <details ref={menu} class="menu" onFocusOut={e => { if (e.relatedTarget instanceof Node && !e.currentTarget.contains(e.relatedTarget)) close(false) }}
        onKeyDown={e => { if (e.key === 'Escape') { e.stopPropagation(); close(true) } }}>
        <summary aria-label="More decisions" title="More decisions">⋯</summary>
        <div role="group" aria-label="More decisions">
          {can && other('approve', 'Approve with comment…')}
          {other('reject', 'Reject…')}
          <button disabled={off} title="Drop it without a reason; it stays among the former plans" onClick={() => decide('reject')}>Let it go</button>
        </div>
      </details>
    </div>
  )
}

const words: Record<Exclude<Asked, ''>, { label: string; hint: string; button: string }> = {
  approve: { label: 'Comment for the agent', hint: 'The agent gets it with the approval.', button: 'Approve with this comment' },
  return: { label: 'Changes you want', hint: 'The agent revises the plan and submits it again.', button: 'Ask for these changes' },
  reject: { label: 'Reason', hint: 'The plan is dropped, and the agent sees your reason.', button: 'Reject the plan' },
}

function WithWords({ how }: { how: Exclude<Asked, ''> }) {
  const text = typed('decision'), w = words[how]
  const { hint, button } = how === 'reject' && view.value?.draft?.changes ? { hint: 'The change is dropped; the current plan continues.', button: 'Reject the change' } : w
  const lacks = how === 'return' && !text.value.trim() && !pending.value.length, off = lacks || !!busy.value || !!swapped.value
  const send = () => { if (!off) void decide(how) }
  return (
    <form class="words" onSubmit={e => { e.preventDefault(); send() }}>
      <label for="decision-words">{w.label}</label>
      <textarea id="decision-words" rows={3} value={text.value} aria-describedby="decision-hint" onInput={e => { text.value = e.currentTarget.value }}
        onKeyDown={e => {
          if (e.key === 'Escape') ask('')
          if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); send() }
        }} />
      <div class="buttons">
        <button class={how === 'reject' ? 'danger' : 'primary'} disabled={off}>{button}</button>
        {how === 'return' && <button type="button" disabled={!!busy.value || !!swapped.value} title="The agent drops this plan and writes another" onClick={() => decide('regenerate')}>Ask for a new plan</button>}
        <button type="button" onClick={() => ask('')}>Cancel</button>
        <span id="decision-hint" class="soft small">{lacks ? 'Describe the changes here or in a comment on a step.' : hint}</span>
      </div>
    </form>
  )
}

// PendingComments lists the comments that go with the decision.
function PendingComments() {
  const all = pending.value
  if (!all.length) return null
  return (
    <details class="going" open={restored.value > 0}>
      <summary>{count(all.length, 'comment')} to send with your decision</summary>
      <ul role="list">
        {all.map(p => (
          <li key={p.key}>
            <button class="link" disabled={!p.step} onClick={() => { selected.value = p.step }}>{p.step ? `Step ${p.step}` : 'Plan'}</button>
            <span class="text"><Prose of={p.text} /></span>
            <PendingButtons comment={p} />
          </li>
        ))}
      </ul>
    </details>
  )
}

// decide sends the decision with the text in the bar and the comments on steps. A refused text stays in its field.
async function decide(how: 'approve' | 'return' | 'reject' | 'regenerate'): Promise<void> {
  const draft = seen.value
  if (!draft || swapped.value) return
  const text = typed('decision'), going = pending.value
  const said = asked.value === (how === 'regenerate' ? 'return' : how) ? text.value.trim() : '' // a text for another decision is not sent with this one
  const input = { request: draft.request, digest: draft.plan.digest, comment: said }
  const comments = going.map(p => {
    const step = draft.plan.steps.find(s => s.number === p.step)
    return step ? { step: step.id, text: p.text } : { text: p.step || p.gone ? `On “${p.title}”: ${p.text}` : p.text }
  })
  const replied = answered()
  const done = await act(how, { ...input, comments, answers: answersOf(replied), ...(how === 'approve' && draft.host_edits && acceptsEdits.value && { accepts_edits: true }) })
  if (!done) return
  acceptsEdits.value = false
  forget(replied)
  if (said) text.value = ''
  asked.value = ''
  current.value = false
  dropComments(...going.map(p => p.key))
}

// Decided shows the effect of the last decision: approving starts nothing by itself, and there are two ways to continue.
export function Decided() {
  const v = view.value, d = v?.decision, p = v?.plan
  if (!v || !d || v.draft || !p || p.status !== 'active' || p.progress.counts.pending !== p.progress.of) return null
  if (!d.outcome.startsWith('approve') || v.run && v.run.state !== 'none') return null
  const here = v.run?.can_here && v.run.state === 'none'
  return (
    <section class="decision quiet-bar" aria-label="What comes next">
      <div class="decision-line">
        <p class="what">
          <b>Nothing has started yet</b>
          <span class="soft">The agent continues after its next status check{here ? ', or planloop can run the tool steps here.' : '.'}</span>
        </p>
        {here && mayDecide.value && <button disabled={!!busy.value} onClick={() => act('start_run', {})}>Start a run here</button>}
      </div>
    </section>
  )
}
