// A plan of four steps for agents, and a scripted model's answers in each attempt at them.
import { join } from 'node:path';

export const steps = [
  { title: 'Write the first word', details: 'The first word is alpha.', creates: ['one.txt'], verify: 'grep -qx alpha one.txt' },
  { title: 'Write the second word', details: 'The second word is beta.', creates: ['two.txt'], verify: 'grep -qx beta two.txt', depends_on: ['S001'] },
  { title: 'Write the third word', details: 'The third word is gamma.', creates: ['three.txt'], verify: 'grep -qx gamma three.txt', depends_on: ['S001'] },
  { title: 'Write the last word', details: 'The last word is omega.', creates: ['four.txt'], verify: 'grep -qx omega four.txt', depends_on: ['S002', 'S003'] },
];
export const outcomes = ['Alpha is the first.', 'Beta is the second.', 'Gamma is the third.', 'Omega is the last.'];

// meddling lists the forbidden acts that the second step's agent tries: with its tools, and in its shell with and without the mark of a
// started agent.
export const meddling = [
  [{ tool: 'planloop_planloop_update', args: { update_tasks: [{ id: 3, status: 'IN_PROGRESS' }] } }, /S003 is not yours/],
  [{ tool: 'planloop_planning_mark_step', args: { step_id: 'S003', status: 'done', note: 'I did this one too' } }, /S003 is not yours/],
  [{ tool: 'planloop_planloop_update', args: { update_tasks: [{ id: 2, status: 'DONE' }, { id: 3, status: 'DONE' }] } }, /S003 is not yours/],
  [{ tool: 'planloop_planning_enter_plan_mode', args: { reason: 'To think it over' } }, /started for S002 only/],
  [{ tool: 'planloop_planning_add_step', args: { steps: [{ title: 'Write a fifth word' }] } }, /started for S002 only/],
  [{ tool: 'planloop_planning_clear_plan', args: {} }, /started for S002 only/],
  [{ tool: 'planloop_planloop_start', args: { goal: 'Something else' } }, /started for S002 only/],
  [shell('planloop step mark S003 done; echo exit $?'), /^(?=[^]*S003 is not yours)[^]*exit 2/],
  [shell('env -u PLANLOOP_RUN planloop step mark S003 done; echo exit $?'), /^(?=[^]*S003 is not yours)[^]*exit 2/],
  [shell('env -u PLANLOOP_RUN setsid --wait planloop plan start "To think it over"; echo exit $?'), /^(?=[^]*started for S002 only)[^]*exit 2/],
  [shell('planloop run; echo exit $?'), /exit 2/],
  [shell('env -u PLANLOOP_RUN planloop run; echo exit $?'), /exit 2/],
];

// script returns the model's answers: by step, by attempt, turn by turn. After the last turn there is no answer, which leaves the agent
// waiting. A function gets the prompt.
export function script(workspace) {
  const write = (file, word) => ({ tool: 'write', args: { filePath: join(workspace, file), content: `${word}\n` } });
  const overMCP = (task) => ({ tool: 'planloop_planloop_update', args: report(task) });
  return {
    S001: [[write('one.txt', 'alpha'), shell('env'), overMCP(1), { text: 'The first word is written.' }]],
    S002: [
      [
        ...meddling.map(([reply]) => reply),
        write('two.txt', 'beta'),
        overMCP(2),
        { tool: 'planloop_planloop_update', args: { update_tasks: [{ id: 2, error: 'On second thoughts' }] } },
        { text: 'The second word is written.' },
      ],
    ],
    S003: [
      [write('notes.txt', 'gam'), { text: 'I have thought about it\nand now I stop.' }],
      [shell('setsid sleep 1000 >/dev/null 2>&1 & echo left $!')],
      [write('three.txt', 'gamma'), shell(`planloop update --json '${JSON.stringify(report(3))}'; echo exit $?`), { text: 'The third word is written.' }],
    ],
    S004: [[write('four.txt', 'omega'), write('stray.txt', 'psi'), (prompt) => ({ text: `All words are there.\n\n${lastLine(prompt)}` })]],
  };
}

function shell(command) {
  return { tool: 'bash', args: { command, description: 'Run it' } };
}

function report(task) {
  return { update_tasks: [{ id: task, status: 'DONE', output: outcomes[task - 1] }] };
}

// lastLine returns the line that a prompt asks for, filled in.
function lastLine(prompt) {
  const [, nonce] = /^\{"planloop":"([^"]+)"/m.exec(prompt);
  return JSON.stringify({ planloop: nonce, status: 'done', output: outcomes[3], affected_files: ['four.txt'], note: 'I read it again' });
}
