// Package command holds the commands of planloop-server. It opens and migrates the database, and must not know its tables.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/build"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
)

// dsnVariable holds the address of the database, with its password.
const dsnVariable = "PLANLOOP_SERVER_DSN"

type commands struct{ dsn string }

// New returns the command line of planloop-server. getenv reads the environment.
func New(getenv func(string) string) *cobra.Command {
	c := &commands{}
	root := &cobra.Command{Use: "planloop-server", Short: "Keep a team's plans, and decide about their changes", Version: build.Version,
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if c.dsn == "" {
				c.dsn = getenv(dsnVariable)
			}
			if c.dsn == "" && !cmd.HasSubCommands() {
				return errors.New("the address of the database is missing; set " + dsnVariable +
					" to one like postgres://planloop@db/planloop")
			}
			return nil
		}}
	root.PersistentFlags().StringVar(&c.dsn, "dsn", "", "address of the PostgreSQL database (default $"+dsnVariable+
		", which other users cannot see)")
	root.AddCommand(serve(c), &cobra.Command{Use: "migrate", Short: "Bring the database to this version's schema", Args: cobra.NoArgs,
		Long: `Bring the database to this version's schema. Servers of this version and the one before can run in the
meantime. serve never does it. Make a backup first.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return postgres.Migrate(cmd.Context(), c.dsn) }},
		c.team(), c.member(), c.invite(), c.token(), c.policy(), c.purge())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// job is a call of a command for a team.
type job struct {
	teamserver.Admin
	ctx       context.Context
	out       io.Writer
	team      int64
	workspace string // "" for the whole team
	args      []string
}

// command returns a command with a first argument that names a team, or a workspace as TEAM/NAME.
func (c *commands) command(use, short string, args int, do func(job) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(args), RunE: func(cmd *cobra.Command, args []string) error {
		return c.open(cmd, func(admin teamserver.Admin) error {
			name, workspace, isOne := strings.Cut(args[0], "/")
			if isOne && !strings.Contains(use, "/WORKSPACE") {
				return fmt.Errorf("this command is for the whole team; write %s instead of %s", name, args[0])
			}
			team, err := admin.FindTeam(cmd.Context(), name)
			if err != nil {
				return err
			}
			return do(job{admin, cmd.Context(), cmd.OutOrStdout(), team, workspace, args})
		})
	}}
}

func (c *commands) open(cmd *cobra.Command, do func(teamserver.Admin) error) error {
	db, err := postgres.Open(cmd.Context(), c.dsn, postgres.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return do(teamserver.NewAdmin(db, teamserver.Operator))
}

func group(use, short string, members ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("%s has no command %q; list them with: %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
		}}
	cmd.AddCommand(members...)
	return cmd
}

func (c *commands) team() *cobra.Command {
	create := &cobra.Command{Use: "create TEAM", Short: "Create a team", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.open(cmd, func(admin teamserver.Admin) error {
				_, err := admin.CreateTeam(cmd.Context(), args[0])
				return err
			})
		}}
	confirm := ""
	remove := c.command("delete TEAM", "Delete a team with all its plans", 1, func(j job) error {
		if confirm != j.args[0] {
			return fmt.Errorf("this deletes all plans of %s; to confirm, add --confirm %s", j.args[0], j.args[0])
		}
		return j.DeleteTeam(j.ctx, j.team)
	})
	remove.Flags().StringVar(&confirm, "confirm", "", "the team's name")
	force := false
	upgrade := c.command("upgrade TEAM", "Use the newest format of this version; older laptops must be updated", 1, func(j job) error {
		old, err := j.Upgrade(j.ctx, j.team, teamwire.Format, force)
		if errors.Is(err, teamserver.ErrCurrent) {
			_, err = fmt.Fprintf(j.out, "The team already uses format %d, the newest of this version.\n", teamwire.Format)
			return err
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(j.out, "The team uses format %d.\n", teamwire.Format)
		for _, laptop := range old {
			fmt.Fprintf(j.out, "Offline until planloop is updated: %s\n", laptop)
		}
		return nil
	})
	upgrade.Flags().BoolVar(&force, "force", false, "also if laptops are too old")
	return group("team", "Create, upgrade and delete teams", create, upgrade, remove)
}

func (c *commands) member() *cobra.Command {
	role, email := string(teamwire.RoleMember), ""
	add := c.command("add TEAM NAME", "Add a member", 2, func(j job) error {
		return j.AddMember(j.ctx, j.team, j.args[1], teamwire.Role(role), email)
	})
	add.Flags().StringVar(&email, "email", "", "verified address of the account with which the member signs in")
	address := c.command("email TEAM NAME ADDRESS", `Change the address of a member's account, "" for none`, 3, func(j job) error {
		return j.SetEmail(j.ctx, j.team, j.args[1], j.args[2])
	})
	address.Long = `Change the verified e-mail address of the account with which a member signs in, "" for none.

The first account that signs in with the address becomes the member's: an address that is given to another person
later opens nothing. This command lets the next account in.`
	add.Flags().StringVar(&role, "role", role, "member or admin")
	change := c.command("role TEAM NAME ROLE", "Make a member an admin, or an admin a member", 3, func(j job) error {
		if err := j.SetRole(j.ctx, j.team, j.args[1], teamwire.Role(j.args[2])); err != nil {
			return err
		}
		return j.warnOfAdmins()
	})
	remove := c.command("remove TEAM NAME", "Remove a member; tokens and votes end at once", 2, func(j job) error {
		if err := j.RemoveMember(j.ctx, j.team, j.args[1]); err != nil {
			return err
		}
		fmt.Fprintln(j.out, "Removed. Copies of plans on their laptops cannot be recalled.")
		return j.warnOfAdmins()
	})
	list := c.command("list TEAM", "List the members", 1, func(j job) error {
		members, err := j.Members(j.ctx, j.team)
		for _, m := range members {
			fmt.Fprintf(j.out, "%s  %s\n", m.Name, m.Role)
		}
		return err
	})
	return group("member", "Add and remove members", add, change, address, remove, list)
}

func (j job) warnOfAdmins() error {
	members, err := j.Members(j.ctx, j.team)
	isAdmin := func(m teamwire.Member) bool { return m.Role == teamwire.RoleAdmin }
	if err == nil && !slices.ContainsFunc(members, isAdmin) {
		_, err = fmt.Fprintln(j.out, "Warning: the team has no admin now. Make one with: planloop-server member role TEAM NAME admin")
	}
	return err
}

func (c *commands) invite() *cobra.Command {
	address := ""
	cmd := c.command("invite TEAM MEMBER", "Print a link with which a member registers a passkey", 2, func(j job) error {
		if !strings.HasPrefix(address, "https://") {
			return errors.New("the link needs the server's public address; add --address https://plans.example.com")
		}
		secret, err := j.Invite(j.ctx, j.team, j.args[1])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(j.out, strings.TrimSuffix(address, "/")+"/invite#"+secret)
		return err
	})
	cmd.Long = "Print a link with which a member registers a passkey on the server's page, to sign in and decide there.\n\n" +
		"It works once, for three days: send it where agents cannot read it."
	cmd.Flags().StringVar(&address, "address", "", "public address of the server, as given to serve")
	return cmd
}

func (c *commands) token() *cobra.Command {
	role, machine, days := string(teamwire.RoleMember), "laptop", 90
	create := c.command("create TEAM MEMBER", "Create a token, and print it once", 2, func(j job) error {
		token, err := j.CreateToken(j.ctx, j.team, j.args[1], teamwire.Role(role), machine, time.Duration(days)*24*time.Hour)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(j.out, token)
		return err
	})
	create.Long = "Create a token of a member, and print it once: only its hash is kept.\n\n" +
		"No token approves a plan: agents run as the same user and could read it. People decide on the server's page."
	create.Flags().StringVar(&role, "role", role, "agent, ci, member or admin")
	create.Flags().StringVar(&machine, "machine", machine, "name of the machine that uses it")
	create.Flags().IntVar(&days, "days", days, "days until it expires")
	list := c.command("list TEAM", "List the valid tokens", 1, func(j job) error {
		tokens, err := j.Tokens(j.ctx, j.team)
		for _, t := range tokens {
			used := "never used"
			if t.Used != nil {
				used = "used " + t.Used.UTC().Format(time.DateOnly)
			}
			fmt.Fprintf(j.out, "%d  %s  %s  %s  expires %s  %s\n", t.ID, t.Member, t.Role, t.Machine,
				t.Expires.UTC().Format(time.DateOnly), used)
		}
		return err
	})
	revoke := c.command("revoke TEAM NUMBER", "End a token at once", 2, func(j job) error {
		id, err := strconv.ParseInt(j.args[1], 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not the number of a token; list them with: planloop-server token list %s", j.args[1], j.args[0])
		}
		return j.RevokeToken(j.ctx, j.team, id)
	})
	return group("token", "Create and revoke tokens", create, list, revoke)
}

func (c *commands) policy() *cobra.Command {
	set := c.command("set TEAM[/WORKSPACE] FILE", "Set the rules from a JSON file, - for standard input", 2, func(j job) error {
		read := func() ([]byte, error) { return os.ReadFile(j.args[1]) }
		if j.args[1] == "-" {
			read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
		}
		data, err := read()
		if err != nil {
			return err
		}
		if err := j.SetSettings(j.ctx, j.team, j.workspace, data); err != nil {
			return err
		}
		settings, members, err := j.Settings(j.ctx, j.team, j.workspace)
		if warning := settings.Warning(members); err == nil && warning != "" {
			_, err = fmt.Fprintln(j.out, "Warning: "+warning)
		}
		return err
	})
	set.Long = `Set the rules of a team from a JSON file, or those of one workspace, which then replace the team's.

  {"approvals": 1, "approvers": ["@leads"], "groups": {"leads": ["ann", "bob"]}, "offline": "closed"}

A submitted plan keeps the rules of its time.`
	remove := c.command("remove TEAM/WORKSPACE", "Remove a workspace's own rules: the team's apply again", 1, func(j job) error {
		if j.workspace == "" {
			return fmt.Errorf("name a workspace, as %[1]s/NAME; to clear the team's rules, set {}: planloop-server policy set %[1]s -",
				j.args[0])
		}
		return j.SetSettings(j.ctx, j.team, j.workspace, nil)
	})
	show := c.command("show TEAM[/WORKSPACE]", "Print the rules", 1, func(j job) error {
		settings, _, err := j.Settings(j.ctx, j.team, j.workspace)
		if err != nil {
			return err
		}
		if err := json.MarshalWrite(j.out, settings, jsontext.WithIndent("  ")); err != nil {
			return err
		}
		_, err = fmt.Fprintln(j.out)
		return err
	})
	return group("policy", "Rules for approvals, limits and hooks", set, remove, show)
}

func (c *commands) purge() *cobra.Command {
	keep := false
	cmd := c.command("purge TEAM/WORKSPACE TRACK --keep-current", "Delete a track's history, with a leaked secret", 2, func(j job) error {
		gone, err := j.PurgeHistory(j.ctx, j.team, j.workspace, j.args[1], keep)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(j.out, "Deleted %d records. Laptops replace their copies at the next pull; backups and other copies "+
			"still have them, so revoke the secret.\n", gone)
		return err
	})
	cmd.Flags().BoolVar(&keep, "keep-current", false, "required: begin a new history with the present plan and draft")
	return cmd
}
