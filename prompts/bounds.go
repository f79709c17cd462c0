package prompts

// How much of what comes from elsewhere a text repeats, in characters. What is
// cut is said beside what is left, so that a model knows that there is more.
const (
	maxTree        = 8_000
	maxDocument    = 16_000 // one file
	maxDocuments   = 40_000 // all specification files together
	maxCode        = 24_000 // all excerpts of code together
	maxFormer      = 24_000
	maxJudgedTasks = 60_000

	maxItem        = 400 // one memory, constraint, finding, mark or task
	maxMemories    = 30
	maxConstraints = 30
	maxFindings    = 60
	maxMarks       = 80
	maxTasks       = 250

	maxPathShown = 160
	maxBackticks = 10 // in a row; longer runs are shortened, so that fences stay short
)

// How much of a plan [Resume] repeats, in tokens. With the words around them the
// shares stay below 300 tokens of any text.
const (
	resumeAction    = 60
	resumeObjective = 24
	resumeTitle     = 20
	resumeNext      = 16
	resumePaths     = 24
	resumeHints     = 30
	resumeBlockers  = 22
)
