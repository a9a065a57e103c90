package wordpiece

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchTexts are the project's Markdown and Go, and prose in other scripts.
func benchTexts(b *testing.B) map[string]string {
	b.Helper()
	join := func(pattern string) string {
		names, err := filepath.Glob(pattern)
		require.NoError(b, err)
		require.NotEmpty(b, names)
		var all strings.Builder
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(b, err)
			all.Write(data)
		}
		return all.String()
	}
	return map[string]string{
		"markdown": join("../../../docs/*.md"),
		"code":     join("../../../embed/minilm/*.go"),
		"german":   strings.Repeat("Die Prüfung der Schlüssel läuft jede Nacht um drei; fällt sie aus, meldet es die Überwachung. ", 400),
		"russian":  strings.Repeat("Проверка ключей выполняется каждую ночь в три часа; если она не прошла, об этом сообщается. ", 300),
		"chinese":  strings.Repeat("每天凌晨三点检查密钥，如果失败，监控会报告。索引在后台更新。", 600),
	}
}

func BenchmarkAppend(b *testing.B) {
	tok := open(b)
	for name, text := range benchTexts(b) {
		b.Run(name, func(b *testing.B) {
			var ids []int32
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				ids = tok.Append(ids[:0], text, 1<<30)
			}
		})
	}
}

func BenchmarkCount(b *testing.B) {
	tok := open(b)
	for name, text := range benchTexts(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.Count(text)
			}
		})
	}
}
