// Questions that agents ask a person: those about the waiting plan are answered with the decision, the others one by one.

import { typed } from '../unsent'
import { act, busy, clock, mayDecide, view } from '../store'
import type { Question } from '../types'
import { Markdown } from './markdown'
import { focus } from './focus'
import { ago, hostName } from './format'

const answerTo = (q: Question) => typed(`answer:${q.text}`) // a question that only the plan lists has no id yet

const withDecision = () => view.value?.draft?.decidable ? view.value.draft.unanswered ?? [] : []

// unanswered are the questions that an approval now would leave open, and answered those whose answers go with it.
export const unanswered = () => withDecision().filter(q => !answerTo(q).value.trim())
export const answered = () => withDecision().filter(q => answerTo(q).value.trim())
export const answersOf = (questions: readonly Question[]) => questions.map(q => ({ question: q.text, text: answerTo(q).value.trim() }))
export const forget = (questions: readonly Question[]) => { for (const q of questions) answerTo(q).value = '' }

export function Questions() {
  const asked = view.value?.questions ?? [], listed = withDecision().filter(q => !asked.some(a => a.id === q.id))
  if (!asked.length && !listed.length) return null
  return <section class="questions" aria-label="Questions to you">{[...asked, ...listed].map(q => <Asking key={q.id} question={q} />)}</section>
}

function Asking({ question: q }: { question: Question }) {
  const text = answerTo(q), waits = withDecision().some(w => w.id === q.id), now = !!q.at
  const send = async (e: Event) => {
    e.preventDefault()
    if (now && text.value.trim() && await act('answer', { id: q.id, text: text.value.trim() })) text.value = ''
  }
  return (
    <form class="question" onSubmit={send}>
      <p class="by"><b>{hostName(q.by)}</b> asks{q.at ? <>, <time dateTime={q.at}>{ago(q.at, clock.value)}</time></> : ' in the plan'}</p>
      <Markdown of={q.text} />
      {mayDecide.value && (
        <div class="answer">
          <textarea id={'answer-' + q.id} rows={1} aria-label={`Answer: ${q.text}`} placeholder={waits ? 'Your answer, sent with your decision' : 'Your answer'} value={text.value}
            onInput={e => { text.value = e.currentTarget.value }} onKeyDown={e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey || !waits && !e.shiftKey)) void send(e) }} />
          {now && <button disabled={!text.value.trim() || !!busy.value}>{waits ? 'Answer now' : 'Answer'}</button>}
        </div>
      )}
    </form>
  )
}

// ToQuestions leads from the decision to the first question without an answer.
export function ToQuestions() {
  const [first, ...more] = unanswered()
  if (!first) return null
  return <button class="link small" onClick={() => focus('answer-' + first.id)}>{more.length ? `Answer ${more.length + 1} questions` : 'Answer a question'}</button>
}
