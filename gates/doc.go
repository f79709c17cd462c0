// Package gates checks the steps somebody wants to add to a plan before they are
// accepted: whether each says what is to be done, where, and how one will know,
// whether what it names exists, and whether it fits into one commit.
//
//	report, err := gates.Check(ctx, candidate, gates.Options{Files: root.FS(), Level: level})
//	if !report.OK() { refuse(report.Details()) }
//
// Every check is a gate: a small value with a name, which is also its key in a
// configuration, and a function from one task to what is wrong with it. A gate
// refuses, warns or is off; Check reports everything at once, in the order of the
// tasks.
//
// The package must not know where the tasks come from, how a plan is stored, or
// who judges: files are seen through an fs.FS alone, a judge through an interface,
// and nothing is ever written.
package gates
