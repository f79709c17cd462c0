// Command commit is the floor of a durable call: a bare mcp-go server over stdio
// with one tool that makes one synced commit of a record's size into the SQLite
// database named by its argument, as any durable server must. It must not know
// planloop.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	_ "modernc.org/sqlite"
)

// recordSize is the size of planloop's record of a mark, in bytes.
const recordSize = 330

func main() {
	if err := serve(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "commit:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: commit DATABASE")
	}
	db, err := open(ctx, args[0])
	if err != nil {
		return err
	}
	defer db.Close()
	insert, err := db.PrepareContext(ctx, `INSERT INTO record (body) VALUES (?)`)
	if err != nil {
		return err
	}
	body := strings.Repeat("x", recordSize)
	s := server.NewMCPServer("commit", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("commit", mcp.WithString("step_id"), mcp.WithString("status")),
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if _, err := insert.ExecContext(ctx, body); err != nil {
				return nil, err
			}
			return mcp.NewToolResultText("ok"), nil
		})
	return server.ServeStdio(s)
}

// open sets up the database like planloop's log: a write-ahead log, synced at every
// commit, one connection.
func open(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(full)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		`PRAGMA journal_mode = WAL`,
		`CREATE TABLE IF NOT EXISTS record (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	return db, nil
}
