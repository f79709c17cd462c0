// Command planloop-server keeps a team's plans in PostgreSQL and decides about their changes: see docs/guides/teams.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // the image has no file of certificates

	"github.com/planloop/planloop/internal/teamserver/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command.New(os.Getenv).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "planloop-server:", err)
		os.Exit(1)
	}
}
