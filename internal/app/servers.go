package app

import (
	"cmp"
	"context"
	"os"
	"sync"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source/resource"
	"github.com/memcore/memcore/internal/app/config"
)

// Servers run in the home, where no workspace affects them.
func (x Index) Servers(at config.Folders) []*resource.Source {
	var all []*resource.Source
	for _, configured := range x.w.Settings.MCP {
		s := configured.Server(os.Environ(), cmp.Or(x.w.Home, at.Root))
		s.Command = x.w.Expand(s.Command)
		all = append(all, resource.New(s, resource.Options{Folder: at.Servers(), KeepSecrets: !x.w.Settings.Redact}))
	}
	return all
}

// ReadServers reads, at once, the servers not read within some time. Failures are warnings.
func (x Index) ReadServers(ctx context.Context, at config.Folders, within time.Duration) resource.Report {
	servers := x.Servers(at)
	reports := make([]resource.Report, len(servers))
	var group sync.WaitGroup
	for i, s := range servers {
		group.Go(func() {
			var err error
			if reports[i], err = s.Refresh(ctx, within); err != nil && ctx.Err() == nil {
				reports[i].Warnings = append(reports[i].Warnings, err.Error())
			}
		})
	}
	group.Wait()
	all := resource.Report{Redacted: map[string][]string{}}
	for _, r := range reports {
		all.Warnings = append(all.Warnings, r.Warnings...)
		for rule, places := range r.Redacted {
			all.Redacted[rule] = append(all.Redacted[rule], places...)
		}
	}
	return all
}

// AddServers adds a report about servers.
func AddServers(report *core.IndexReport, read resource.Report) {
	report.Warnings = append(report.Warnings, read.Warnings...)
	for rule, places := range read.Redacted {
		if report.Redacted == nil {
			report.Redacted = map[string][]string{}
		}
		report.Redacted[rule] = append(report.Redacted[rule], places...)
	}
}
