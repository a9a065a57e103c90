package keyword

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func TestLanguagesCountLiveRecords(t *testing.T) {
	ix, err := Open(t.Context(), t.TempDir())
	require.NoError(t, err)
	defer ix.Close()
	counted := func() map[string]int {
		t.Helper()
		languages, err := ix.Languages(t.Context())
		require.NoError(t, err)
		return languages
	}
	require.Empty(t, counted())
	german := "Die Fähre fährt am Morgen von der Brücke ab, und sie ist nicht pünktlich."
	require.NoError(t, ix.Put(t.Context(), []store.Record{
		{ID: "a", Path: "a.md", Text: german}, {ID: "b", Path: "b.md", Text: german}, {ID: "c", Path: "c.md", Text: "The ferry leaves in the morning."},
		{ID: "e", Path: "e.md", Text: "Máy chủ thử nghiệm được đặt ở tầng hai và do chị Hương quản lý."},
		{ID: "f", Path: "f.md", Text: "Bandomąją duomenų bazę prižiūri Jūratė, ją rasite ketvirtame aukšte."},
		{ID: "d", Path: "d.md", Text: "每天凌晨三点检查密钥，如果失败，监控会报告 key check。"},
	}))
	require.NoError(t, ix.Commit(t.Context()))
	require.Equal(t, map[string]int{"de": 2, "en": 1, "zh": 1, "vi": 1, Undetermined: 1}, counted())
	require.NoError(t, ix.Delete(t.Context(), []string{"a"}))
	require.NoError(t, ix.Commit(t.Context()))
	require.Equal(t, map[string]int{"de": 1, "en": 1, "zh": 1, "vi": 1, Undetermined: 1}, counted())
}
