package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/web/baseurl"
	"github.com/memcore/memcore/service"
)

// An operator asks a running service to manage tenants.
type operator struct{ server, tenant string }

const serverVariable = "MEMCORE_SERVICE_URL"

// group returns a command that groups others, with the flags that all of them have.
func (o *operator) group(use, short string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: helpOrUnknown}
	cmd.PersistentFlags().StringVar(&o.server, "server", "", "`URL` of the service (default: $MEMCORE_SERVICE_URL, else http://127.0.0.1:7475); $MEMCORE_SERVICE_OPERATOR_KEY has the key")
	return cmd
}

// groupOfTenant is group of commands about one tenant.
func (o *operator) groupOfTenant(use, short string) *cobra.Command {
	cmd := o.group(use, short)
	cmd.PersistentFlags().StringVar(&o.tenant, "tenant", "", "`NAME` of the tenant")
	return cmd
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 20

// send sends a request, and decodes the answer, unless into is an io.Writer, which gets it.
func (o operator) send(ctx context.Context, method, path string, body, into any) error {
	server := cmp.Or(o.server, os.Getenv(serverVariable), "http://127.0.0.1:7475")
	base, err := baseurl.Parse(server)
	if err != nil {
		return kind.Usagef("--server: %w", err)
	}
	if strings.Contains(path+"/", "//") {
		return kind.Hint(kind.Usagef("a name is empty"), "--tenant names the tenant")
	}
	key := os.Getenv(operatorVariable)
	if key == "" {
		return kind.Hint(kind.Usagef("%s is not set", operatorVariable), "it is the key that the nodes were started with")
	}
	var data []byte
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, base.String()+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // which would take the key along
	answer, err := client.Do(r)
	if err != nil {
		return kind.Hint(fmt.Errorf("ask the service at %s: %w", plain.Address(server), err), "name it with --server")
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return refusalOf(answer)
	}
	if out, ok := into.(io.Writer); ok {
		_, err = io.Copy(out, answer.Body)
		return err
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into)
}

// refusalOf returns the error that an answer tells.
func refusalOf(answer *http.Response) error {
	var told struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 64<<10)).Decode(&told); err != nil || told.Error.Message == "" {
		return fmt.Errorf("the service answered with status %s", answer.Status)
	}
	err := fmt.Errorf("%s", told.Error.Message)
	if answer.StatusCode == http.StatusBadRequest {
		return kind.As(kind.BadInput, err)
	}
	return err
}

// below is the path of a tenant's operation.
func below(tenant string, parts ...string) string {
	path := "/v1/tenants/" + url.PathEscape(tenant)
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

func tenantCommand(a *cli) *cobra.Command {
	var o operator
	cmd := o.group("tenant", "List, create, change and delete the tenants of a service")
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the tenants", Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all struct{ Tenants []service.Tenant }
			if err := o.send(cmd.Context(), http.MethodGet, "/v1/tenants", nil, &all); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(all.Tenants)
			}
			var b strings.Builder
			for _, t := range all.Tenants {
				b.WriteString(plain.Line("%s  since %s%s\n", t.Name, t.Created.Format(time.DateOnly), ownOf(t)))
			}
			return a.print(b.String())
		},
	}, &cobra.Command{
		Use: "create NAME", Short: "Create a tenant", Args: arguments(cobra.ExactArgs(1), "the name of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var t service.Tenant
			if err := o.send(cmd.Context(), http.MethodPost, "/v1/tenants", map[string]string{"name": args[0]}, &t); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(t)
			}
			return a.print(fmt.Sprintf("created %s; 'memcore-service key create --tenant %s --user NAME' makes a key\n", t.Name, t.Name))
		},
	}, setTenantCommand(a, &o), exportTenantCommand(a, &o),
		deleteCommand(a, "tenant", "Delete a tenant with its keys, documents and history", func(ctx context.Context, name string) error {
			return o.send(ctx, http.MethodDelete, below(name), nil, &struct{}{})
		}))
	return cmd
}

func setTenantCommand(a *cli, o *operator) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Give a tenant limits and an embedder of its own", Args: arguments(cobra.ExactArgs(1), "the name of a tenant"),
		Long: `Change what differs for a tenant from the other ones, at once. A limit of 0 and an empty embedder are
those of the nodes; a limit of -1 is none. After a change of the embedder nodes make the vectors
again, and words answer meanwhile.`,
	}
	f := cmd.Flags()
	f.Float64("rate", 0, "requests a second to a node")
	f.Int("max-documents", 0, "documents")
	f.Int64("max-bytes", 0, "bytes")
	f.Int64("max-embedded", 0, "tokens of documents that a node embeds in a day")
	f.String("embedder", "", "`NAME` of what makes vectors, as the setting embedder")
	f.String("embedding-model", "", "`NAME` of its model, if it is ollama or openai")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changed := map[string]any{}
		for flag, field := range map[string]string{"rate": "rate", "max-documents": "maxDocuments", "max-bytes": "maxBytes", "max-embedded": "maxEmbedded"} {
			if f.Changed(flag) {
				changed[field] = json.Number(f.Lookup(flag).Value.String())
			}
		}
		if f.Changed("embedder") || f.Changed("embedding-model") {
			changed["embedder"], changed["model"] = f.Lookup("embedder").Value.String(), f.Lookup("embedding-model").Value.String()
		}
		if len(changed) == 0 {
			return kind.Hint(kind.Usagef("nothing is to be changed"), "memcore-service tenant set "+args[0]+" --rate 20")
		}
		var t service.Tenant
		if err := o.send(cmd.Context(), http.MethodPatch, below(args[0]), changed, &t); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(t)
		}
		return a.print(plain.Line("%s%s\n", t.Name, ownOf(t)))
	}
	return cmd
}

// ownOf says what a tenant has of its own.
func ownOf(t service.Tenant) string {
	var b strings.Builder
	add := func(name string, limit float64) {
		switch {
		case limit > 0:
			fmt.Fprintf(&b, "  %s %s", name, strconv.FormatFloat(limit, 'f', -1, 64))
		case limit < 0:
			fmt.Fprintf(&b, "  %s without limit", name)
		}
	}
	add("rate", t.PerSecond)
	add("documents", float64(t.MaxDocuments))
	add("bytes", float64(t.MaxBytes))
	add("embedded", float64(t.MaxEmbedded))
	if t.Embedder != "" {
		b.WriteString("  embedder " + strings.TrimSpace(t.Embedder+" "+t.Model))
	}
	return b.String()
}

func exportTenantCommand(a *cli, o *operator) *cobra.Command {
	return &cobra.Command{
		Use: "export NAME", Short: "Write the documents of all users and teams of a tenant to standard output, as tar", Args: arguments(cobra.ExactArgs(1), "the name of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.send(cmd.Context(), http.MethodGet, below(args[0], "export", "all"), nil, a.stdout)
		},
	}
}

func keyCommand(a *cli) *cobra.Command {
	var o operator
	cmd := o.groupOfTenant("key", "List, create and revoke the keys of a tenant")
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the keys", Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all struct{ Keys []service.Key }
			if err := o.send(cmd.Context(), http.MethodGet, below(o.tenant, "keys"), nil, &all); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(all.Keys)
			}
			var b strings.Builder
			for _, k := range all.Keys {
				expires := "never"
				if !k.Expires.IsZero() {
					expires = k.Expires.Format(time.DateOnly)
				}
				fmt.Fprintln(&b, plain.Line("%s  user %s, %s, since %s, expires %s  %s", k.ID, plain.Member(k.User, k.Teams), k.Right, k.Created.Format(time.DateOnly), expires, k.Name))
			}
			return a.print(b.String())
		},
	}, createKeyCommand(a, &o), &cobra.Command{
		Use: "revoke ID", Short: "Revoke a key, at once", Args: arguments(cobra.ExactArgs(1), "the ID of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.send(cmd.Context(), http.MethodDelete, below(o.tenant, "keys", args[0]), nil, &struct{}{}); err != nil {
				return err
			}
			return a.print("revoked\n")
		},
	})
	return cmd
}

func createKeyCommand(a *cli, o *operator) *cobra.Command {
	k := service.Key{}
	var right string
	var expires time.Duration
	cmd := &cobra.Command{
		Use: "create", Short: "Make a key and print it once", Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			k.Right = service.Right(right)
			if expires != 0 {
				k.Expires = time.Now().Add(expires).UTC().Truncate(time.Second)
			}
			var made service.Key
			if err := o.send(cmd.Context(), http.MethodPost, below(o.tenant, "keys"), k, &made); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(made)
			}
			a.note("key %s of %s in %s, right %s; it is shown only now", made.ID, plain.Member(made.User, made.Teams), made.Tenant, made.Right)
			return a.print(made.Secret + "\n")
		},
	}
	f := cmd.Flags()
	f.StringVar(&k.User, "user", "", "`NAME` of the user")
	f.StringSliceVar(&k.Teams, "team", nil, "`NAME` of a team whose memory the user shares; may be repeated")
	f.StringVar(&k.Name, "name", "", "`TEXT` that says what the key is for")
	f.StringVar(&right, "right", string(service.Write), "`RIGHT`: read, write or admin")
	f.DurationVar(&expires, "expires", 0, "`AGE` at which it expires, such as 720h; 0: never")
	return cmd
}

func teamCommand(a *cli) *cobra.Command {
	var o operator
	cmd := o.groupOfTenant("team", "Delete what a team of a tenant has")
	cmd.AddCommand(deleteCommand(a, "team", "Delete a team's documents with their history; keys lose the team", func(ctx context.Context, name string) error {
		return o.send(ctx, http.MethodDelete, below(o.tenant, "teams", name), nil, &struct{}{})
	}))
	return cmd
}

func userCommand(a *cli) *cobra.Command {
	var o operator
	cmd := o.groupOfTenant("user", "Export or delete what a user of a tenant has")
	cmd.AddCommand(deleteCommand(a, "user", "Delete a user's own documents with their history, and the user's keys", func(ctx context.Context, name string) error {
		return o.send(ctx, http.MethodDelete, below(o.tenant, "users", name), nil, &struct{}{})
	}), &cobra.Command{
		Use: "export NAME", Short: "Write a user's own documents to standard output, as tar", Args: arguments(cobra.ExactArgs(1), "the name of a user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.send(cmd.Context(), http.MethodGet, below(o.tenant, "users", args[0], "export"), nil, a.stdout)
		},
	})
	return cmd
}

// deleteCommand deletes what somebody has, once --yes says so.
func deleteCommand(a *cli, what, about string, remove func(ctx context.Context, name string) error) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete NAME", Short: about, Args: arguments(cobra.ExactArgs(1), "the name of a "+what),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return kind.Hint(kind.Usagef("deleting what the %s %s has cannot be undone", what, args[0]), "add --yes")
			}
			if err := remove(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.print(fmt.Sprintf("deleted what the %s %s had\n", what, args[0]))
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "delete it")
	return cmd
}
