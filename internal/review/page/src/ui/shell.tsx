// The frame of the page: the inbox on the left, one plan in the middle, one step on the right.

import { effect } from '@preact/signals'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { followSteps } from '../follow'
import { bind } from '../keys'
import { asFault } from '../source'
import { connection, fault, former, heard, helping, inbox, names, narrow, pane, type Pane, phone, roomy, selected, shown, source, step, told, view } from '../store'
import { Bubble } from './bubble'
import { Signals } from './agents'
import { Decided, DecisionBar } from './decide'
import { Unlock } from './dialog'
import { Difference } from './diff'
import { FormerBar } from './former'
import { Graph } from './graph'
import { Help } from './help'
import { Inbox } from './inbox'
import { Log } from './log'
import { Gathering } from './mode'
import { About, PlanView } from './plan'
import { Prose } from './prose'
import { Questions } from './questions'
import { Reordering } from './reorder'
import { RunPanel } from './run'
import { count, sentence } from './format'
import { StepPanel } from './step'
import { restored } from '../unsent'

const panes: { name: Pane; label: string; there: () => boolean; draw: () => preact.JSX.Element }[] = [
  { name: 'plan', label: 'Plan', there: () => true, draw: () => <PlanView /> },
  { name: 'graph', label: 'Graph', there: () => (shown.value?.steps.length ?? 0) > 1, draw: () => <Graph /> },
  { name: 'difference', label: 'Changes', there: () => !!shown.value?.difference, draw: () => <Difference /> },
  { name: 'run', label: 'Run', there: () => !!view.value?.run && !former.value, draw: () => <RunPanel /> },
  { name: 'log', label: 'Log', there: () => !!view.value, draw: () => <Log /> },
]

export function Shell() {
  useLayoutEffect(() => bind(...panes.map(({ name, label, there }, i) => (
    { keys: [String(i + 1)], what: `Show: ${label.toLowerCase()}`, group: 'Viewing' as const, when: there, run: () => { pane.value = name } }))), [])
  useEffect(() => keepFocus(), [])
  useEffect(() => followSteps(), [])
  useEffect(() => effect(() => { document.title = title() }), [])
  const v = view.value, there = panes.filter(p => p.there()), chosen = there.find(p => p.name === pane.value) ?? panes[0]!
  const page = source.value?.kind !== 'app', beside = step.value && !narrow.value && (chosen.name === 'graph' || chosen.name === 'difference') ? step.value : undefined
  const column = !!v && page && roomy.value && chosen.name === 'plan' && !!shown.value
  return (
    <div class={`frame${page ? '' : ' in-app'}${beside ? ' with-step' : column ? ' with-about' : ''}`}>
      <a class="skip-link" href="#main" onClick={e => { e.preventDefault(); document.getElementById('main')?.focus() }}>To the plan</a>
      {page && <Rail />}
      <main id="main" tabIndex={-1}>
        <div class="attention">
          <Notices />
          {former.value ? <FormerBar /> : <>
            <DecisionBar />
            <Gathering />
            <Decided />
          </>}
        </div>
        {!v && <h1 class="unseen">planloop</h1>}
        {!v && connection.value === 'live' && !(heard.value && inbox.value.workspaces.length === 0) && <div class="skeleton" />}
        {v && (
          <div class="place-head">
            <div class="place-name"><h1>{v.workspace.name}</h1> {shown.value && !former.value && !v.draft?.decidable && v.phase !== 'gathering' && <span class="soft"><Prose of={sentence(v.headline, names.value)} /></span>}</div>
            <nav class="panes" aria-label="Views of the plan">
              {there.map(p => <button key={p.name} aria-current={p === chosen ? 'page' : undefined} onClick={() => { pane.value = p.name }}>{p.label}</button>)}
            </nav>
          </div>
        )}
        {v && !v.can.decide && !v.draft?.decidable && !former.value && <p class="cannot"><Prose of={`View only${v.can.why ? `: ${sentence(v.can.why).replace(/^./, c => c.toLowerCase())}` : '.'}`} /></p>}
        {v && <div class="content">{!former.value && !column && <><Questions /><Signals /></>}{chosen.name !== 'plan' && <h2 class="pane-title"><Prose of={(chosen.name === 'run' ? v.plan : shown.value)?.objective ?? v.workspace.name} /></h2>}{chosen.draw()}</div>}
        {!v && heard.value && connection.value === 'live' && inbox.value.workspaces.length === 0 && <Nothing />}
        <Bubble />
      </main>
      {beside && <aside class="beside" aria-label="Chosen step"><StepPanel key={beside.title} step={beside} /></aside>}
      {column && <aside class="beside" aria-label="Besides the steps">{!former.value && <><Questions /><Signals /></>}<About /></aside>}
      <Help />
      <Reordering />
      <Unlock />
      <div class="unseen" role="status" aria-live="polite">{told.value}</div>
    </div>
  )
}

// Rail is the inbox: next to the plan if there is room, otherwise above it, folded.
function Rail() {
  const n = inbox.value.waiting.length
  useLayoutEffect(() => bind({ keys: ['i'], what: 'Go to the inbox', group: 'Viewing', run: toInbox }), [])
  if (!phone.value) return <nav class="rail" aria-label="Inbox"><p class="brand">planloop</p><Inbox /><button class="keys soft small" onClick={() => { helping.value = true }}>Keys <kbd>?</kbd></button><SignOut /></nav>
  const fold = (e: MouseEvent) => { if (e.target instanceof Element && e.target.closest('button')) (e.currentTarget as HTMLDetailsElement).open = false } // the chosen item is shown below
  return <nav class="rail" aria-label="Inbox"><details onClick={fold}><summary>planloop <span class="soft">{n ? count(n, 'item') + ' waiting for you' : heard.value && 'nothing is waiting'}</span></summary><Inbox /><SignOut /></details></nav>
}

// SignOut ends the sign-in on a team's server.
function SignOut() {
  const from = source.value
  if (!from?.member || connection.value === 'signin') return null
  const out = () => { from.signOut?.().catch((e: unknown) => { fault.value = asFault(e) }) }
  return <p class="empty small">{from.member}{from.isAdmin && <> · <a href="/admin">Team</a></>}<br /><button class="small" onClick={out}>Sign out</button></p>
}

function toInbox(): void {
  const folded = document.querySelector<HTMLDetailsElement>('.rail > details')
  if (folded) folded.open = true
  document.querySelector<HTMLElement>('.rail .item, .rail .place')?.focus()
}

// TokenForm accepts the server's token, to open the page view only.
function TokenForm() {
  const [wrong, setWrong] = useState('')
  const send = (e: SubmitEvent) => {
    e.preventDefault()
    const token = new FormData(e.target as HTMLFormElement).get('token')
    source.value?.look?.(String(token)).catch((why: unknown) => setWrong(asFault(why).message))
  }
  return (
    <form class="notice is-waiting" onSubmit={send}>
      <label><b>Enter this server’s token to view the plan.</b> To approve, run <code>planloop review</code> in a terminal.{' '}
        <input name="token" type="password" autocomplete="off" required /></label>{' '}
      <button>View</button>
      {wrong && <span role="alert"> {sentence(wrong)}</span>}
    </form>
  )
}

function Notices() {
  const isTeam = !!source.value?.member
  return (
    <>
      {connection.value === 'lost' && <p class="notice is-wrong" role="alert"><b>The connection to planloop is lost.</b> This page may be out of date. It reconnects automatically, and your text is kept.{!isTeam && <> If planloop has stopped, run <code>planloop review</code>. Over SSH, check the port forwarding.</>}</p>}
      {connection.value === 'signin' && <p class="notice is-wrong" role="alert"><b>You are not signed in, or your sign-in has ended.</b> <a href="/signin" target="_blank" rel="noopener">Sign in</a> in a new tab. This page then continues, and your text is kept.</p>}
      {connection.value === 'refused' && <p class="notice is-wrong" role="alert"><b>This browser is not signed in, or its session has ended.</b> For a new link, press Enter in the terminal that runs <code>planloop review</code>, or run <code>planloop review --code</code> if it runs in the background. It works once, for 30 seconds.</p>}
      {connection.value === 'token' && <TokenForm />}
      {fault.value && (connection.value === 'live' || connection.value === 'lost') && (
        <p class="notice is-wrong" role="alert">
          <b>{sentence(fault.value.problem)}</b> {sentence(fault.value.fix)}
          <button class="quiet small" onClick={() => { fault.value = null }}>Dismiss</button>
        </p>
      )}
      {restored.value > 0 && (
        <p class="notice is-waiting" role="status">
          <b>{count(restored.value, 'unsent text')} {restored.value > 1 ? 'are' : 'is'} back.</b> Read {restored.value > 1 ? 'them' : 'it'} before you decide.
          <button class="quiet small" onClick={() => { restored.value = 0 }}>Dismiss</button>
        </p>
      )}
      {view.value?.workspace.doubt && <p class="notice is-waiting">{sentence(view.value.workspace.doubt)}</p>}
    </>
  )
}

function Nothing() {
  return (
    <div class="empty">
      <p><b>No workspace has a plan yet.</b></p>
      {source.value?.member
        ? <p>Run <code>planloop team share main</code> on a laptop that has joined the team. Its plans appear here.</p>
        : <p>Run <code>planloop init</code> in the folder that your agent works in, and ask it to plan. Submitted plans appear here.</p>}
    </div>
  )
}

function title(): string {
  const n = inbox.value.waiting.length
  return (n ? `(${n}) ` : '') + [shown.value?.objective, view.value?.workspace.name, 'planloop'].filter(Boolean).join(' – ')
}

// keepFocus moves the focus to the plan when a change removes the focused element, so that the keyboard stays in the page.
function keepFocus(): () => void {
  let had: Element | null = null
  const came = (e: FocusEvent) => { had = e.target as Element }
  const left = () => { had = null }
  const seen = new MutationObserver(() => {
    if (!had || had.isConnected) return
    const typedIn = had.id.startsWith('comment-') && selected.value ? document.getElementById('comment-' + selected.value) : null // its step has moved
    had = null
    if (document.activeElement === document.body) (typedIn ?? document.getElementById('main'))?.focus({ preventScroll: true })
  })
  document.addEventListener('focusin', came)
  document.addEventListener('pointerdown', left)
  seen.observe(document.body, { childList: true, subtree: true })
  return () => {
    document.removeEventListener('focusin', came)
    document.removeEventListener('pointerdown', left)
    seen.disconnect()
  }
}
