// Signs in with a passkey or an account, or registers a passkey with an invitation, whose secret is the part after # of its link.
'use strict'

const find = id => document.getElementById(id)
const invited = location.pathname === '/invite'
const approving = location.pathname === '/approve'
const returning = location.pathname === '/signin/account' // from the provider of accounts
const query = new URLSearchParams(location.search)
const hash = location.hash.slice(1) // the invitation, the workspace, or the place that the page will open
addEventListener('hashchange', () => location.reload()) // another invitation was opened in this tab

// call returns the server's answer. A refusal is thrown in its own words.
async function call(path, body) {
  const answer = await fetch(path, { method: 'POST', body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', 'Planloop-Key': localStorage.getItem('planloop-key') ?? '' }, credentials: 'same-origin', cache: 'no-store', redirect: 'error' })
  const value = await answer.json()
  if (!answer.ok) throw new Error(value.fix ? `${value.problem}; ${value.fix}` : value.problem)
  return value
}

function open({ key, member, role, team }) {
  localStorage.setItem('planloop-key', key)
  localStorage.setItem('planloop-member', `${member} · ${team}`)
  localStorage.setItem('planloop-role', role)
  toPage(returning ? sessionStorage.getItem('planloop-place') : invited ? '' : hash)
}

const toPage = place => location.replace('/' + (place ? '#' + place : ''))

async function sign(options) {
  const signed = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey) })
  return { credential: signed.toJSON() }
}

// approve shows the plan at the first press of the button, and signs its approval at the second.
let shown
async function approve() {
  if (!shown) {
    shown = await call('/approve/begin', { workspace: decodeURIComponent(hash) })
    find('about').textContent = `${shown.objective} · ${shown.steps} step${shown.steps === 1 ? '' : 's'} · ${shown.short}`
    find('go').textContent = 'Approve, signed with a passkey'
    find('go').disabled = false
    return
  }
  const { options } = shown
  shown = undefined // a challenge is used once
  await call('/approve/finish', await sign(options))
  location.replace('/#workspace=' + encodeURIComponent(decodeURIComponent(hash)))
}

async function register() {
  const options = await call('/invite/begin', { invitation: hash })
  const made = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey) })
  open(await call('/invite/finish', { invitation: hash, credential: made.toJSON() }))
}

async function signIn() {
  const options = await call('/signin/begin', {})
  open(await call('/signin/finish', await sign(options)))
}

async function useAccount() {
  sessionStorage.setItem('planloop-place', hash)
  location.assign((await call('/signin/account', { team: query.get('team') ?? '' })).go)
}

async function finishAccount() {
  history.replaceState(null, '', location.pathname)
  if (query.has('error')) throw new Error('the provider did not sign you in: ' + query.get('error'))
  open(await call('/signin/account/finish', { state: query.get('state') ?? '', code: query.get('code') ?? '' }))
}

async function showWays() {
  const ways = await call('/signin/ways', {})
  find('account').hidden = !ways.account
  if (ways.in && !query.has('again') && !returning) toPage(hash)
}

// attempt runs one of the ways, and shows its failure.
async function attempt(way) {
  find('go').disabled = find('account').disabled = true
  find('problem').textContent = ''
  try {
    await way()
  } catch (e) {
    const text = e.name === 'NotAllowedError' ? 'No passkey was used; try again' : e.message
    find('problem').textContent = text.charAt(0).toUpperCase() + text.slice(1) + '.'
    find('go').disabled = find('account').disabled = false
  }
}

if (invited) {
  history.replaceState(null, '', location.pathname)
  find('about').textContent = 'You are invited to your team’s plans. Register a passkey on this device, and sign in with it from now on.'
  find('go').textContent = 'Register a passkey'
} else if (approving) {
  find('about').textContent = 'Read the plan on the review page first, and compare the beginning of its digest.'
  find('go').textContent = 'Show the waiting plan'
} else {
  showWays().catch(() => {}) // a passkey works without
  if (returning) attempt(finishAccount)
}

find('account').addEventListener('click', () => attempt(useAccount))
find('go').addEventListener('click', () => attempt(invited ? register : approving ? approve : signIn))
