// The shown plan: its objective, its progress, its steps, and the comments on the whole plan.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { bind } from '../keys'
import { allOpen, clock, current, editing, former, formerPlan, mayDecide, pane, printing, roomy, selected, shown, showsDraft, skipping, view } from '../store'
import type { PageFact, Plan } from '../types'
import { Agents } from './agents'
import { NewComment, CommentList } from './comments'
import { edit, EditStep } from './edit'
import { AskForPlan } from './mode'
import { Past } from './former'
import { Markdown, plain } from './markdown'
import { Prose } from './prose'
import { FactsLine } from './facts'
import { focus } from './focus'
import { comment, Rows, skip } from './rows'
import { ago, beyond, hostName, moment } from './format'
import { close, mayChange } from './step'

export function PlanView() {
  usePlanKeys()
  const p = shown.value
  if (!p) return former.value ? null : <NoPlan />
  return (
    <>
      <PlanHead plan={p} />
      <StepsHead plan={p} />
      <Rows />
      <AddStep plan={p} />
      {!roomy.value && <About />}
      <section class="talk whole" aria-label="Comments on the whole plan">
        <CommentList step={0} />
        <NewComment step={0} title={p.objective} />
      </section>
      {['completed', 'failed', 'abandoned'].includes(p.status) && <AskForPlan />}
      <Past />
    </>
  )
}

function NoPlan() {
  return (
    <div class="empty">
      <p><b>No plan yet</b></p>
      <p>Ask an agent that uses planloop to plan something. The plan appears here once it is submitted.</p>
      <Facts more={[]} />
      <AskForPlan />
      <Past />
    </div>
  )
}

function PlanHead({ plan: p }: { plan: Plan }) {
  const v = view.value
  const { done, of, unverified = 0 } = p.progress, summary = beyond(p.summary, p.objective)
  return (
    <header class="plan-head">
      <h2 class="objective"><Prose of={p.objective} /></h2>
      <FactsLine steps={p.steps} />
      {done > 0 && (
        <div class="bar">
          {unverified > 0 && <progress class="unverified" max={of} value={done} aria-hidden="true" />}
          <progress max={of} value={done - unverified} aria-label={`${done} of ${of} steps are done`} />
        </div>
      )}
      {summary && <div class="summary">{folds([summary]) ? <Folded text={summary}><Markdown of={summary} /></Folded> : <Markdown of={summary} />}</div>}
      {showsDraft.value && v?.draft?.host_text && (
        <details class="host-text" open>
          <summary>The whole plan from {v.draft.host}, which an approval covers</summary>
          <Markdown of={v.draft.host_text} />
        </details>
      )}
    </header>
  )
}

// About holds the situation, the agents, and who wrote which version. It has a column of its own if there is room.
export function About() {
  const p = shown.value
  if (!p) return null
  return (
    <section class="besides" aria-label="About the plan">
      {!former.value && <Agents />}
      <Facts first={p.changes ? [{ label: 'Changes', texts: [p.changes] }] : []} more={p.other?.map(o => ({ label: o.label, texts: [o.text] })) ?? []} />
      <Origin plan={p} />
    </section>
  )
}

function Origin({ plan: p }: { plan: Plan }) {
  const { done, unverified = 0, checked } = p.progress
  return (
    <p class="facts-line">
      <span>{formerPlan.value ? `version ${p.version}, ${formerPlan.value.became}` : p.version > 1 ? `${p.status}, version ${p.version}` : p.status}</span>
        {done > 0 && <span title={checked}>{done} done{unverified > 0 && `, ${unverified} not verified`}</span>}
      <span>by {hostName(p.created_by)}, <time dateTime={p.created_at} title={moment(p.created_at)}>{ago(p.created_at, clock.value)}</time></span>
      <span class="mono" title={`An approval applies to exactly this content: ${p.digest}`}>{p.short}</span>
    </p>
  )
}

// StepsHead unfolds and folds all steps at once, so that an approver can read the whole plan in one go.
function StepsHead({ plan: p }: { plan: Plan }) {
  const v = view.value, two = v?.draft && v.plan && !former.value
  return (
    <div class="steps-head">
      {two ? (
        <div class="which" role="group" aria-label="Which plan">
          <button aria-pressed={!current.value} onClick={() => { current.value = false }}>Proposed plan</button>
          <button aria-pressed={current.value} onClick={() => { current.value = true }}>Current plan</button>
        </div>
      ) : <h3>{p.steps.length ? 'Steps' : 'No steps yet'}</h3>}
      <button class="quiet small" disabled={!p.steps.length} aria-pressed={allOpen.value} title="o" onClick={() => { allOpen.value = !allOpen.value }}>{allOpen.value ? 'Fold all' : 'Open all'}</button>
    </div>
  )
}

// Facts shows the situation in its order. The background is folded, with more facts of the plan.
function Facts({ first: before = [], more }: { first?: PageFact[]; more: PageFact[] }) {
  const all = (former.value ? formerPlan.value : showsDraft.value ? view.value?.draft : view.value)?.situation ?? []
  const rest = [...all.filter(f => f.folded), ...more], first = [...before, ...all.filter(f => !f.folded)]
  return (
    <>
      {first.length > 0 && <dl class="facts about" aria-label="Situation">{first.map(f => <Fact key={f.label} {...f} />)}</dl>}
      {rest.length > 0 && (
        <details class="more" open={printing.value || allOpen.value}>
          <summary>{[...new Set(rest.map(({ label }, i) => i ? label.toLowerCase() : label))].join(', ')}</summary>
          <dl class="facts about">{rest.map((f, i) => <Fact key={i} {...f} />)}</dl>
        </details>
      )}
    </>
  )
}

const long = { texts: 3, characters: 300 }

// folds reports whether texts are too long to be shown at once.
function folds(texts: string[]): boolean {
  return !printing.value && !allOpen.value && (texts.length > long.texts || texts.join().length > long.characters || texts.some(text => text.trim().includes('\n\n')))
}

// Folded shows the beginning of a long text, and the whole of it on demand.
function Folded({ text, more = 0, children }: { text: string; more?: number; children: ComponentChildren }) {
  return <details class="fold"><summary><span class="text">{plain(text)}</span><span class="soft">{more > 0 && `and ${more} `}more</span><span class="soft less">less</span></summary>{children}</details>
}

function Fact({ label, texts, urgent }: PageFact) {
  const all = <ul role="list">{texts.map((text, i) => <li key={i}><Markdown of={text} /></li>)}</ul>
  return (
    <div class={urgent ? 'urgent' : undefined}>
      <dt>{label}</dt>
      <dd>{folds(texts) ? <Folded text={texts[0]!} more={texts.length - 1}>{all}</Folded> : all}</dd>
    </div>
  )
}

function AddStep({ plan: p }: { plan: Plan }) {
  const adding = useSignal(false)
  if (!mayDecide.value || (current.value && !!view.value?.draft) || (!showsDraft.value && p.status !== 'active')) return null
  if (!adding.value) return <button class="quiet add" onClick={() => { adding.value = true }}>Add a step</button>
  const last = p.steps.at(-1)?.number ?? 0
  const after = selected.value || last
  return (
    <section class="adding" aria-label="A new step">
      <h2>A new step{after ? ` after step ${after}` : ''}</h2>
      <EditStep after={after} onClose={() => { adding.value = false }} />
    </section>
  )
}

function usePlanKeys(): void {
  useLayoutEffect(() => {
    const here = () => pane.value === 'plan' && !!shown.value?.steps.length
    const chosen = () => here() && selected.value > 0
    const step = () => shown.value?.steps.find(s => s.number === selected.value)
    const changeable = () => { const s = step(); return here() && !!s && mayChange(s) }
    const go = (by: number) => {
      const all = shown.value?.steps ?? []
      const at = all.findIndex(s => s.number === selected.value)
      const next = at < 0 ? all[by > 0 ? 0 : all.length - 1] : all[Math.min(all.length - 1, Math.max(0, at + by))]
      if (!next) return
      editing.value = false
      selected.value = next.number
      focus('step-' + next.number)
    }
    return bind(
      { keys: ['j', 'ArrowDown'], what: 'Next step', group: 'Steps', when: here, run: () => go(1) },
      { keys: ['k', 'ArrowUp'], what: 'Previous step', group: 'Steps', when: here, run: () => go(-1) },
      { keys: ['Enter'], what: 'Open the first step, or read the chosen one', group: 'Steps', when: here, run: () => selected.value ? focus('step-' + selected.value) : go(1) },
      { keys: ['Escape'], what: 'Close the step', group: 'Steps', when: chosen, run: () => close(selected.value, editing.value || skipping.value > 0) },
      { keys: ['o'], what: 'Open all steps, or fold them', group: 'Steps', when: here, run: () => { allOpen.value = !allOpen.value } },
      { keys: ['c'], what: 'Comment on the step', group: 'Steps', when: () => chosen() && mayDecide.value, run: () => comment(selected.value) },
      { keys: ['e'], what: 'Edit the step', group: 'Steps', when: changeable, run: () => edit(selected.value) },
      { keys: ['x'], what: 'Skip the step, or remove it from a draft', group: 'Steps', when: changeable, run: () => skip(selected.value) },
    )
  }, [])
}
