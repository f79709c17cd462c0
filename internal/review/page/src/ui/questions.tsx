// Questions that an agent asks a person.

import { typed } from '../unsent'
import { act, busy, clock, mayDecide, view } from '../store'
import type { Question } from '../types'
import { Markdown } from './markdown'
import { ago } from './format'

export function Questions() {
  const open = view.value?.questions ?? []
  if (!open.length) return null
  return <section class="questions" aria-label="Questions to you">{open.map(q => <Asking key={q.id} question={q} />)}</section>
}

function Asking({ question: q }: { question: Question }) {
  const text = typed('answer-' + q.id)
  const send = async (e: Event) => {
    e.preventDefault()
    if (text.value.trim() && await act('answer', { id: q.id, text: text.value.trim() })) text.value = ''
  }
  return (
    <form class="question" onSubmit={send}>
      <p class="by"><b>{q.by}</b> asks, <time dateTime={q.at}>{ago(q.at, clock.value)}</time></p>
      <Markdown of={q.text} />
      {mayDecide.value && (
        <div class="answer">
          <textarea id={'answer-' + q.id} rows={1} aria-label={`Answer: ${q.text}`} placeholder="Your answer" value={text.value} onInput={e => { text.value = e.currentTarget.value }}
            onKeyDown={e => { if (e.key === 'Enter' && !e.shiftKey) void send(e) }} />
          <button disabled={!text.value.trim() || !!busy.value}>Answer</button>
        </div>
      )}
    </form>
  )
}
