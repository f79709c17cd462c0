//go:build linux && amd64

package shell_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/internal/shell"
)

var (
	generated = flag.Int("generated", 200, "how many commands TestAllowedCommandsOnlyRead makes up")
	seed      = flag.Uint64("seed", 1, "what they are made of; 0 for a new one")
	lasting   = flag.Duration("for", 15*time.Second, "how long at most")
	sole      = flag.String("sole", "", "the one command that TestAllowedCommandsOnlyRead runs, whatever the classifier says of it")
	from      = flag.String("from", "", "a `FILE` of commands to take in the place of made-up ones, one on a line, ␤ for a newline")
	soleWall  = flag.String("sole-wall", "", "the wall to run it in: namespaces or landlock")
	soleIn    = flag.String("sole-in", "ws", "the folder of the scratch world to run it in")
)

// TestAllowedCommandsOnlyRead: generated commands that the classifier allows change nothing, start only programs from the
// tables, and connect to nothing. A share of all commands runs within each wall of package sandbox instead: there nothing they do may have
// an effect outside, and nothing may outlive the call.
func TestAllowedCommandsOnlyRead(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts hundreds of commands")
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	p := &proof{t: t, generator: newGenerator(t, *seed), jobs: make(chan job), ran: map[string]int{}}
	began := time.Now()
	var workers sync.WaitGroup
	for range max(2, runtime.NumCPU()) {
		s, err := newSandbox(p.generator.programs)
		if errors.Is(err, errNoSandbox) {
			t.Skip("NOTHING IS PROVED HERE: ", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		workers.Go(func() { p.work(s) })
	}
	if *sole != "" {
		p.jobs <- job{Command: *sole, Dir: *soleIn, Wall: *soleWall}
		if !special(*sole) && *soleWall == "" {
			p.jobs <- job{Command: *sole, Dir: *soleIn, Host: true}
			p.jobs <- job{Command: *sole, Dir: *soleIn, Host: true, Zsh: true}
		}
	} else if *from != "" {
		p.replay(*from)
	} else {
		p.generate(*generated, began.Add(*lasting))
	}
	close(p.jobs)
	workers.Wait()
	p.report(time.Since(began))
}

// confinedShare is the number of generated commands of which one runs in each wall. Building a wall costs as much as many commands.
const confinedShare = 100

// proof is one run of the test.
type proof struct {
	t         *testing.T
	generator *generator
	jobs      chan job
	made      int

	mu       sync.Mutex
	ran      map[string]int // by the program the command begins with
	count    int
	confined int
	slow     time.Duration
	escapes  int
}

// generate makes commands and passes on the allowed ones.
func (p *proof) generate(count int, until time.Time) {
	walk, zsh := p.generator.walk(), hasZsh()
	for p.made = range count {
		command := ""
		if time.Now().After(until) {
			p.t.Logf("the time is over")
			return
		}
		if p.made < len(walk) && p.made < count/2 {
			command = walk[p.made]
		} else {
			command = p.generator.command()
		}
		dir, host := p.generator.place()
		if walls := sandbox.Walls(); p.made%confinedShare < len(walls) && !strings.ContainsRune(command, 0) && !endless(command) {
			p.jobs <- job{Command: command, Dir: dir, Wall: string(walls[p.made%confinedShare])}
		}
		if strings.ContainsRune(command, 0) || !shell.Classify(command).Allowed || endless(command) {
			continue
		}
		host = host && !special(command)
		p.jobs <- job{Command: command, Dir: dir, Host: host, Zsh: host && zsh && p.generator.often(50)}
	}
	p.made++
}

func (p *proof) replay(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	zsh := hasZsh()
	for line := range strings.Lines(string(text)) {
		command := strings.ReplaceAll(strings.TrimRight(line, "\n"), "␤", "\n")
		if v := shell.Classify(command); v.Allowed {
			p.jobs <- job{Command: command, Dir: "ws"}
			p.jobs <- job{Command: command, Dir: "plain", Host: !special(command)}
			if zsh && !special(command) {
				p.jobs <- job{Command: command, Dir: "plain", Host: true, Zsh: true}
			}
		} else if testing.Verbose() {
			p.t.Logf("refused: %s: %s", command, v.Reason)
		}
	}
}

func hasZsh() bool {
	_, err := os.Stat("/bin/zsh")
	return err == nil
}

// endless reports whether a command may run until it is killed, which costs as much time as hundreds of others.
func endless(command string) bool {
	return endlessly.MatchString(command)
}

var endlessly = regexp.MustCompile(`\b(yes|sleep|while|until)\b|tail.* -[a-zA-Z0-9]*[fF]|--follow|--retry|--pid|for \(\(|shuf.* -[a-z-]*r`)

// special reports whether a command is harmless only in bash_execute's environment: git and go commands that read the
// workspace's configuration.
func special(command string) bool {
	return specially.MatchString(strings.NewReplacer("'", "", `"`, "", `\`, "", "{", "", ",", "").Replace(command))
}

var specially = regexp.MustCompile(`git|go|\$'`)

func (p *proof) work(s *enclosure) {
	defer func() { _ = s.close() }()
	for j := range p.jobs {
		o, err := s.run(j)
		if err != nil {
			p.t.Errorf("%q: %v", j.Command, err)
			for range p.jobs { // no more can be run
			}
			return
		}
		p.note(j, o)
	}
}

func (p *proof) note(j job, o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range p.generator.programs {
		if j.Command == name || strings.HasPrefix(j.Command, name+" ") {
			p.ran[name]++
		}
	}
	p.count++
	if j.Wall != "" {
		p.confined++
	}
	if o.Took > time.Second {
		p.slow += o.Took
		p.t.Logf("%v: %q", o.Took, j.Command)
	}
	if len(o.Found) == 0 {
		return
	}
	p.escapes++
	if p.escapes <= 50 || *seed != 1 {
		p.t.Errorf("allowed, or confined by %q, and it does more than read: %q\n\t%s\n\treplay: -sole %q -sole-in %s -sole-wall %q", j.Wall,
			j.Command, strings.Join(o.Found, "\n\t"), j.Command, j.Dir, j.Wall)
	}
}

func (p *proof) report(took time.Duration) {
	everyday, refused := corpus(p.t, "allowed.txt"), 0
	for _, command := range everyday {
		if !shell.Classify(command).Allowed {
			refused++
		}
	}
	p.t.Logf("%d of %d everyday commands are refused", refused, len(everyday))
	p.t.Logf("seed %d: %d commands made, %d run, %d of them confined, %.0f a second, %v in slow ones; %d escapes", *seed, p.made, p.count,
		p.confined, float64(p.count)/took.Seconds(), p.slow, p.escapes)
	var missing, never []string
	for _, name := range p.generator.programs {
		if p.ran[name] == 0 {
			never = append(never, name)
		}
		if _, err := exec.LookPath(name); err != nil && !strings.Contains(name, " ") && !slices.Contains(shellWords(), name) {
			missing = append(missing, name)
		}
	}
	p.t.Logf("not on this machine: %s", strings.Join(missing, ", "))
	if p.made > 10000 {
		p.t.Logf("never run by themselves: %s", strings.Join(never, ", "))
	}
}

func shellWords() []string {
	return []string{"cd", "command", "type"}
}

func harmlessPrograms() map[string]bool {
	programs := map[string]bool{"bash": true, "zsh": true, "gettext": true, "envsubst": true, // git's scripts run the last two
		"gzip": true, "bzip2": true, "xz": true, "zstd": true} // zcat and tar -tzf run these
	for name := range strings.SplitSeq(os.Getenv(programsVariable), ",") {
		programs[name] = true
	}
	return programs
}
