package terminal_test

import (
	"os"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Fixed{Tests: m}.Run()) }
