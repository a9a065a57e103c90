package postgres

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/internal/kind"
)

// schemaFiles are run once each, by number.
//
//go:embed schema/*.sql
var schemaFiles embed.FS

// schemaVersion is the number of the last file.
const schemaVersion = 1

// migrationLock is of the database: any number of nodes may start at once.
const migrationLock = 7161000

// Migrate makes the tables, or those changes that they lack. The role owns them, and may create the
// extension vector and the role memcore_node, which the operator grants to the role of the nodes.
// Run it again after a restore from a dump.
func Migrate(ctx context.Context, dsn string) error {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", failed(ctx, err))
	}
	defer c.Close(context.WithoutCancel(ctx))
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		var version int
		_, err := tx.Exec(ctx, fmt.Sprintf(`select pg_advisory_xact_lock(%d)`, migrationLock))
		if err == nil {
			_, err = tx.Exec(ctx, `create schema if not exists memcore; set local search_path = `+searchPath+`;
				create table if not exists memcore.schema (version integer primary key, at timestamptz not null default now())`)
		}
		if err == nil {
			err = tx.QueryRow(ctx, `select coalesce(max(version), 0) from memcore.schema`).Scan(&version)
		}
		if err == nil && version > schemaVersion {
			err = fmt.Errorf("%w: they are version %d, this release knows %d", ErrSchema, version, schemaVersion)
		}
		for version++; err == nil && version <= schemaVersion; version++ {
			var text []byte
			if text, err = schemaFiles.ReadFile(fmt.Sprintf("schema/%d.sql", version)); err != nil {
				return err
			}
			if _, err = tx.Exec(ctx, string(text)); err == nil {
				_, err = tx.Exec(ctx, `insert into memcore.schema (version) values ($1)`, version)
			}
		}
		if err == nil {
			_, err = tx.Exec(ctx, `select memcore.renew()`)
		}
		if isState(err, "42501") { // insufficient_privilege
			err = kind.Hint(err, "the role has to own the database; a superuser makes the extension vector before")
		}
		if err != nil {
			return fmt.Errorf("migrate the database: %w", err)
		}
		return nil
	})
}
