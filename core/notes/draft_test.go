package notes

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A draft shows its changes, Commit writes them, Undo takes all.
func TestDraft(t *testing.T) {
	d := newFixture(t)
	d.write("data/memory/facts/user.md", "# User\r\n\r\n- Name: Ada\r\n- Role: student\r\n")
	before := d.read("data/memory/facts/user.md")
	draft := d.data().Draft()
	ctx := t.Context()
	w, err := draft.Patch(ctx, "facts/user.md", []Patch{{OldText: "student", NewText: "engineer"}, {OldText: "nowhere", NewText: "x"}}, false)
	require.NoError(t, err)
	require.Equal(t, 1, w.Applied)
	w, err = draft.Write(ctx, "facts/project.md", "# Project\n\n- Database: Postgres\n")
	require.NoError(t, err)
	require.True(t, w.Created)
	_, err = draft.Append(ctx, "", "## Done\n- Summary: it is done", "")
	require.NoError(t, err)
	_, err = draft.Append(ctx, "facts/project.md", "- Port: 5432", "")
	require.NoError(t, err)
	text, err := draft.Read(ctx, "facts/project.md")
	require.NoError(t, err)
	require.Equal(t, "# Project\n\n> Summary: database, port\n\n- Database: Postgres\n- Port: 5432\n", text, "one list")
	items, err := draft.List(ctx)
	require.NoError(t, err)
	require.Equal(t, "Available memory:\n- facts/project.md (72B): database, port\n- facts/user.md (66B): name, role\n- episodes/2026-02.md (73B): it is done", listText(items))
	require.Len(t, draft.Changes(), 3)
	require.Equal(t, before, d.read("data/memory/facts/user.md"))
	require.NoDirExists(t, filepath.Join(d.project, "data", "memory", "episodes"))

	require.NoError(t, draft.Commit(ctx, "draft"))
	require.Equal(t, "# User\r\n\r\n> Summary: name, role\r\n\r\n- Name: Ada\r\n- Role: engineer\r\n", d.read("data/memory/facts/user.md"))
	record, err := d.journal().Undo(ctx)
	require.NoError(t, err)
	require.Len(t, record.Edits, 3)
	require.Equal(t, before, d.read("data/memory/facts/user.md"))
	require.Empty(t, d.read("data/memory/facts/project.md"))
}

// Commit keeps the changes of others, or writes nothing.
func TestDraftMeetsOthers(t *testing.T) {
	ctx := context.Background()
	for name, tt := range map[string]struct {
		draft  func(*Draft) error
		others func(*Data) error
		want   string // of facts/a.md; "" if it fails
	}{
		"other lines": {
			func(d *Draft) error { return errOf(d.Patch(ctx, "facts/a.md", []Patch{{"one", "1"}}, true)) },
			func(d *Data) error { return errOf(d.Append(ctx, "facts/a.md", "- three", "mine")) },
			"# A\n\n> Summary: 1, mine\n\n- 1\n- two\n- three\n"},
		"appended twice": {
			func(d *Draft) error { return errOf(d.Append(ctx, "facts/a.md", "- mine", "mine")) },
			func(d *Data) error { return errOf(d.Append(ctx, "facts/a.md", "- theirs", "mine")) },
			"# A\n\n> Summary: mine\n\n- one\n- two\n- theirs\n- mine\n"},
		"the same line": {
			func(d *Draft) error { return errOf(d.Patch(ctx, "facts/a.md", []Patch{{"one", "1"}}, true)) },
			func(d *Data) error { return errOf(d.Patch(ctx, "facts/a.md", []Patch{{"one", "I"}}, true)) }, ""},
		"overwritten": {
			func(d *Draft) error { return errOf(d.Write(ctx, "facts/a.md", "new")) },
			func(d *Data) error { return errOf(d.Append(ctx, "facts/a.md", "- theirs", "")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.write("data/memory/facts/a.md", "# A\n\n- one\n- two\n")
			draft := d.data().Draft()
			_, err := draft.Append(ctx, "facts/z.md", "- another", "")
			require.NoError(t, err)
			require.NoError(t, tt.draft(draft))
			require.NoError(t, tt.others(d.data()))
			theirs := d.read("data/memory/facts/a.md")
			err = draft.Commit(ctx, "")
			if tt.want != "" {
				require.NoError(t, err)
				require.Equal(t, tt.want, d.read("data/memory/facts/a.md"))
				return
			}
			require.ErrorIs(t, err, ErrChanged)
			require.Equal(t, theirs, d.read("data/memory/facts/a.md"))
			require.Empty(t, d.read("data/memory/facts/z.md"), "all or nothing")
		})
	}
}

func errOf(_ Written, err error) error { return err }

func TestDraftRefuses(t *testing.T) {
	d := newFixture(t)
	draft := d.data().Draft()
	_, err := draft.Write(t.Context(), "../x.md", "x")
	require.ErrorIs(t, err, ErrPath)
	_, err = draft.Read(t.Context(), "facts/none.md")
	require.ErrorIs(t, err, ErrNoFile)
	_, err = draft.Patch(t.Context(), "facts/none.md", nil, false)
	require.ErrorIs(t, err, ErrNoFile)
	_, err = draft.Append(t.Context(), "facts/a.md", " ", "")
	require.ErrorIs(t, err, ErrNoEntry)
	d.write("data/memory/facts/latin.md", "caf\xe9\n")
	_, err = draft.Append(t.Context(), "facts/latin.md", "x", "")
	require.ErrorIs(t, err, ErrText)
	require.Empty(t, draft.Changes())
	require.NoError(t, draft.Commit(t.Context(), "nothing"))
	_, err = d.journal().Undo(t.Context())
	require.ErrorIs(t, err, ErrNoRecord, "nothing is no change")

	_, err = draft.Write(t.Context(), "facts/a.md", "a")
	require.NoError(t, err)
	d.write("data/memory/facts/a.md", "caf\xe9\n")
	require.ErrorIs(t, draft.Commit(t.Context(), ""), ErrText)
	elsewhere := OpenData(d.project, filepath.Dir(d.project), d.journal()).Draft()
	require.ErrorIs(t, elsewhere.Commit(t.Context(), ""), ErrPath)
	_, err = elsewhere.List(t.Context())
	require.ErrorIs(t, err, ErrPath)
}

// A new statement strikes the old in the same change.
func TestSupersede(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "# Ours\n\n- The port is 5432\n- The colour is red\n- The colour of the boat is red\n")
	saved := d.save(SaveRequest{Content: "The port is 6000", Supersedes: "the port is 5432"})
	require.True(t, saved.Written)
	require.Contains(t, saved.Diff, "-- The port is 5432\n+- ~~The port is 5432~~ (superseded ")
	require.Contains(t, d.read("BEANS.md"), "- The port is 6000\n")
	saved = d.save(SaveRequest{Content: "The port is 6001", Supersedes: "port"})
	require.True(t, saved.Written, "what is struck through is no candidate")
	require.Regexp(t, `~~The port is 6000~~`, d.read("BEANS.md"))
	_, err := d.journal().Undo(t.Context())
	require.NoError(t, err)
	require.Contains(t, d.read("BEANS.md"), "- The port is 6000\n")

	_, err = d.saver().Save(t.Context(), SaveRequest{Content: "x y z", Supersedes: "colour red"})
	require.ErrorIs(t, err, ErrStatement)
	_, err = d.saver().Save(t.Context(), SaveRequest{Content: "x y z", Supersedes: "zebra"})
	require.ErrorIs(t, err, ErrStatement)
	require.NotContains(t, d.read("BEANS.md"), "x y z")

	// In another file, which the caller finds.
	d.write("data/memory/facts/user.md", "# User\n\n- Role: student\n")
	d.write("BEANS.md", "# Ours\n\n- Role: engineer\n")
	dir := filepath.Join(d.project, "data", "memory", "facts")
	d.options.Find = func(context.Context, string) (Statement, error) {
		return Statement{Path: "facts/user.md", Dir: dir, Name: "user.md", First: 3, Last: 3, Text: "- Role: student"}, nil
	}
	saved = d.save(SaveRequest{Content: "Role: engineer", Supersedes: "student"})
	require.True(t, saved.Written)
	require.Equal(t, 3, saved.Line)
	require.Regexp(t, `- ~~Role: student~~`, d.read("data/memory/facts/user.md"))
	require.Equal(t, "# Ours\n\n- Role: engineer\n", d.read("BEANS.md"))
	_, err = d.saver().Save(t.Context(), SaveRequest{Content: "Role: pilot", Supersedes: "student"})
	require.ErrorIs(t, err, ErrChanged, "it is not what it was when it was found")
	d.options.Find = func(context.Context, string) (Statement, error) { return Statement{}, os.ErrPermission }
	_, err = d.saver().Save(t.Context(), SaveRequest{Content: "Role: pilot", Supersedes: "student"})
	require.ErrorIs(t, err, os.ErrPermission)
}

// A failing file system changes nothing and is reported.
func TestFaults(t *testing.T) {
	d := newFixture(t)
	d.write("data/memory/facts/a.md", "# A\n")
	data := d.data()
	refused := os.ErrPermission
	for _, at := range []string{"write 0", "write 1"} {
		journal := d.journal()
		journal.failAt = func(step string) error {
			if step == at {
				return refused
			}
			return nil
		}
		draft := OpenData(d.project, data.dir, journal).Draft()
		_, err := draft.Append(t.Context(), "facts/a.md", "- x", "")
		require.NoError(t, err)
		_, err = draft.Append(t.Context(), "facts/b.md", "- y", "")
		require.NoError(t, err)
		require.ErrorIs(t, draft.Commit(t.Context(), ""), refused)
		require.Equal(t, "# A\n", d.read("data/memory/facts/a.md"), at)
		require.Empty(t, d.read("data/memory/facts/b.md"), at)
	}
	_, err := d.journal().Undo(t.Context())
	require.ErrorIs(t, err, ErrNoRecord)

	require.NoError(t, os.WriteFile(d.journal().file, []byte("{"), 0o600))
	_, err = data.Write(t.Context(), "facts/a.md", "x")
	require.ErrorContains(t, err, "delete it; the files themselves are not affected")
	_, err = d.journal().Undo(t.Context())
	require.ErrorContains(t, err, "delete it")
	require.NoError(t, os.Remove(d.journal().file))

	big := make([]byte, maxFile)
	for i := range big {
		big[i] = 'x'
	}
	_, err = data.Append(t.Context(), "facts/big.md", string(big), "")
	require.ErrorContains(t, err, "it would be larger than 8 MB")
	require.Empty(t, d.read("data/memory/facts/big.md"))
	require.NoError(t, os.WriteFile(filepath.Join(data.dir, "facts", "big.md"), append(big, big...), 0o644))
	_, err = data.Read(t.Context(), "facts/big.md")
	require.ErrorContains(t, err, "it is larger than 8 MB")
	items, err := data.List(t.Context())
	require.NoError(t, err)
	require.Contains(t, listText(items), "facts/big.md (16.8MB): cannot be read: it is larger than 8 MB")
	require.NoError(t, os.Mkdir(filepath.Join(data.dir, "facts", "dir.md"), 0o755))
	_, err = data.Write(t.Context(), "facts/dir.md", "x")
	require.Error(t, err)
}
