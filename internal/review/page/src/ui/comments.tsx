// Comments: pending ones that go with the decision, sent ones, and the field for a new one.

import type { Comment } from '../types'
import { commentOn, dropComments, keepComment, type Pending, pending, request } from '../unsent'
import { act, aim, busy, clock, comments, mayDecide, shown, showsDraft, view } from '../store'
import { isGone } from '../passage'
import { Markdown } from './markdown'
import { ago, hostName } from './format'
import { focus } from './focus'

const stepOf = (number: number) => shown.value?.steps.find(s => s.number === number)

const metWords = { open: 'open', met: 'met', changed: 'step has changed', gone: 'step is gone' }

// CommentList lists the comments on a step, or for 0 those on the whole plan and on removed steps: of these, the ones with a given title, or with
// none of some titles.
export function CommentList({ step, gone, but }: { step: number; gone?: string; but?: string[] }) {
  const fits = (c: Comment) => gone === undefined ? !c.title || !but?.includes(c.title) : c.title === gone
  const sent = comments.value.filter(c => (c.step ?? 0) === step && (step > 0 || fits(c)))
  const kept = gone === undefined ? pending.value.filter(p => p.step === step) : []
  if (!sent.length && !kept.length) return null
  return (
    <ul class="said" role="list">
      {sent.map(c => <Sent key={c.id ?? c.at + c.text} comment={c} />)}
      {kept.map(p => <Kept key={p.key} comment={p} />)}
    </ul>
  )
}

function Sent({ comment: c }: { comment: Comment }) {
  const open = c.met !== 'met'
  return (
    <li class={open ? 'comment' : 'comment past'}>
      <p class="by">
        <b>{hostName(c.by)}</b> {c.question ? 'asked' : 'commented'} <time dateTime={c.at}>{ago(c.at, clock.value)}</time>
        {!c.question && c.met && <span class={`met met-${c.met}`}>{metWords[c.met]}</span>}
        {isGone(c.text, stepOf(c.step ?? 0)) && <span class="soft">quoted text is gone</span>}
        {!c.step && c.title && <span class="soft"> on “{c.title}”</span>}
      </p>
      <Markdown of={c.text} />
      {c.reply && (
        <div class="reply">
          <p class="by"><b>{hostName(c.reply.by)}</b> replied <time dateTime={c.reply.at}>{ago(c.reply.at, clock.value)}</time></p>
          <Markdown of={c.reply.text} />
        </div>
      )}
      {c.question && !c.reply && <p class="soft small">Waiting for the agent’s answer.</p>}
      {mayDecide.value && c.id && (!c.question || c.reply) && c.met !== 'gone' && (
        <button class="quiet small" disabled={!!busy.value} onClick={() => act('meet', { id: c.id ?? '', met: open })}>{!open ? 'Open again' : c.question ? 'Mark as read' : 'Mark as met'}</button>
      )}
    </li>
  )
}

// Returned shows the requested changes next to their result, after the plan was sent back.
export function Returned() {
  const draft = view.value?.draft, asked = draft?.decidable && showsDraft.value ? draft.returned : undefined
  if (!asked?.comment) return null
  return (
    <div class="comment asked-for">
      <p class="by"><b>{hostName(asked.by)}</b> requested changes <time dateTime={asked.at}>{ago(asked.at, clock.value)}</time></p>
      <Markdown of={asked.comment} />
    </div>
  )
}

function Kept({ comment: p }: { comment: Pending }) {
  return (
    <li class="comment kept">
      <p class="by">
        <b>Not sent yet</b>
        {p.request !== request.value && <span class="soft">(written for an earlier version, on “{p.title}”)</span>}
      </p>
      <Markdown of={p.text} />
      <PendingButtons comment={p} />
    </li>
  )
}

export function PendingButtons({ comment: p }: { comment: Pending }) {
  const change = () => {
    commentOn(stepOf(p.step), shown.value?.steps ?? []).value = p.text
    dropComments(p.key)
    focus('comment-' + p.step)
  }
  return (
    <span class="inline-buttons">
      <button class="quiet small" onClick={change}>Change</button>
      <button class="quiet small" onClick={() => dropComments(p.key)}>Remove</button>
    </span>
  )
}

// NewComment is the field for a comment. If a plan waits, the comment is kept for the decision; it can also be sent at once.
export function NewComment({ step, title }: { step: number; title: string }) {
  const text = commentOn(stepOf(step), shown.value?.steps ?? []), empty = !text.value.trim()
  const waits = showsDraft.value && !!view.value?.draft?.decidable, id = stepOf(step)?.id
  if (!mayDecide.value || !shown.value) return null
  const keep = () => {
    if (empty) return
    keepComment(step, title, text.value.trim())
    text.value = ''
  }
  const send = async (name: 'comment' | 'ask') => {
    if (!empty && await act(name, { plan: aim().plan, ...(id ? { step: id } : {}), text: text.value.trim() })) text.value = ''
  }
  const first = waits ? keep : () => send('comment')
  return (
    <form class="new-comment" onSubmit={e => { e.preventDefault(); void first() }}>
      <textarea id={'comment-' + step} rows={empty ? 1 : 3} aria-label={step ? `Comment on step ${step}` : 'Comment on the whole plan'}
        placeholder={step ? 'Comment on this step, or ask about it' : 'Comment on the whole plan, or ask about it'} value={text.value}
        onInput={e => { text.value = e.currentTarget.value }}
        onKeyDown={e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); void first() } }} />
      {!empty && (
        <div class="buttons">
          {waits && <button class="primary" title="Sent with your decision (Ctrl+Enter)">Add comment</button>}
          <button type={waits ? 'button' : 'submit'} class={waits ? '' : 'primary'} disabled={!!busy.value} onClick={waits ? () => send('comment') : undefined}>Send now</button>
          <button type="button" disabled={!!busy.value} title="The agent answers; the plan does not change" onClick={() => send('ask')}>Ask the agent</button>
        </div>
      )}
    </form>
  )
}

// linesOf returns a row's lines of comments on its step: open ones and unsent ones.
export function linesOf(step: number): { key: string; who: string; text: string; kind: string }[] {
  return [
    ...comments.value.filter(c => c.step === step && c.met !== 'met').map(c => ({
      key: c.id ?? c.at, who: hostName(c.by), text: c.reply ? `${c.text} → ${hostName(c.reply.by)}: ${c.reply.text}` : c.text, kind: c.reply ? 'reply' : 'sent',
    })),
    ...pending.value.filter(p => p.step === step).map(p => ({ key: p.key, who: 'Not sent', text: p.text, kind: 'kept' })),
  ]
}
