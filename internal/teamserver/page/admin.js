// Shows and changes a team, for a signed-in admin.
'use strict'

const find = id => document.getElementById(id)

async function call(path, body) {
  const answer = await fetch(path, { method: 'POST', body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', 'Planloop-Key': localStorage.getItem('planloop-key') ?? '' },
    credentials: 'same-origin', cache: 'no-store', redirect: 'error' })
  const value = await answer.json()
  if (!answer.ok) throw new Error(value.fix ? `${value.problem}; ${value.fix}` : value.problem)
  return value
}

// attempt runs an act, shows its failure, or the team after it.
async function attempt(act) {
  find('problem').textContent = ''
  try {
    const said = await act()
    await show()
    find('problem').textContent = said ?? ''
  } catch (e) {
    find('problem').textContent = e.message.replace(/^./, c => c.toUpperCase()) + '.'
  }
}

function line(text, ...buttons) {
  const item = document.createElement('li')
  item.append(text)
  for (const [label, act] of buttons) {
    const button = document.createElement('button')
    button.textContent = label
    button.addEventListener('click', () => attempt(act))
    item.append(' ', button)
  }
  return item
}

async function invite(member) {
  return `Send this link to ${member}, where agents cannot read it. It works once, for three days: ${(await call('/admin/invite', { member })).link}`
}

const ask = (question, act) => async () => { if (confirm(question)) await act() }
const day = time => time.slice(0, 10)

async function show() {
  const { settings, members } = await call('/admin/policy', {})
  const { tokens } = await call('/admin/tokens', {})
  find('members').replaceChildren(...members.map(({ name: member, role }) => line(`${member} · ${role}`, ['Invite', () => invite(member)],
    ['Remove', ask(`Remove ${member}? Tokens, sign-ins and votes end at once.`, () => call('/admin/remove', { member }))])))
  find('tokens').replaceChildren(...tokens.map(t => line(
    `${t.member} · ${t.role} · ${t.machine} · expires ${day(t.expires)} · ${t.used ? 'used ' + day(t.used) : 'never used'}`,
    ['Revoke', ask(`End this token of ${t.member} at once?`, () => call('/admin/revoke', { token: t.token }))])))
  find('rules').elements.rules.value = JSON.stringify(settings, null, 2)
  find('team').hidden = false
}

find('add').addEventListener('submit', e => {
  e.preventDefault()
  const form = e.target
  attempt(async () => { await call('/admin/add', Object.fromEntries(new FormData(form))); form.reset() })
})
find('rules').addEventListener('submit', e => {
  e.preventDefault()
  const text = e.target.elements.rules.value.trim() || '{}'
  attempt(async () => {
    let settings
    try { settings = JSON.parse(text) } catch { throw new Error('The rules are not valid JSON') }
    const { warning } = await call('/admin/policy', { settings })
    return warning ? `Saved. Warning: ${warning}` : 'Saved.'
  })
})
attempt(async () => {})
