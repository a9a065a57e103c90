-- What a service keeps. Rows of a scope are seen only by a transaction that names the scope
-- (memcore.scopes), rows of a tenant by one that names the tenant (memcore.tenant).
--
-- The large tables have no foreign keys: each insert would lock the one row of the scope. Who
-- writes holds a shared lock of the tenant, who deletes a scope or tenant an exclusive one.

create extension if not exists vector schema public;

create table memcore.tenant (
	id       bigint generated always as identity primary key, -- never used again
	name     text collate "C" not null unique,
	created  timestamptz not null default now(),
	settings jsonb not null default '{}'
);

create table memcore.api_key (
	id        text collate "C" primary key,
	tenant    bigint not null references memcore.tenant on delete cascade,
	hash      bytea not null, -- of the secret
	user_name text not null,
	teams     text[] not null,
	access    text not null,
	name      text not null,
	created   timestamptz not null default now(),
	expires   timestamptz
);
create index on memcore.api_key (tenant, created);

create table memcore.scope (
	id     bigint generated always as identity primary key,
	tenant bigint not null references memcore.tenant on delete cascade,
	kind   text not null check (kind in ('shared', 'team', 'user')),
	name   text collate "C" not null,
	oldest bigint not null default 0, -- revisions that were replaced before this one have expired
	short  bigint not null default 0, -- some that were replaced before this one made room for others
	unique (tenant, kind, name)
);

-- What a tenant has is the sum of its rows: writes at the same time have one each, which gives them
-- the numbers of their revisions, too (memcore.take_part).
create table memcore.usage (
	tenant    bigint not null,
	part      integer not null,
	documents bigint not null default 0,
	bytes     bigint not null default 0,
	last      bigint not null default 0, -- revision
	primary key (tenant, part)
) with (fillfactor = 50);

-- What replaced and removed revisions take, by who wrote them; parts are those of usage.
create table memcore.history (
	tenant bigint not null,
	writer text collate "C" not null,
	part   integer not null,
	bytes  bigint not null,
	primary key (tenant, writer, part)
) with (fillfactor = 50);

create table memcore.model (
	id          smallint generated always as identity primary key,
	fingerprint text not null unique
);

create table memcore.revision (
	scope    bigint not null,
	number   bigint not null, -- none has it twice in a tenant
	path     text collate "C" not null,
	text     text, -- null of what was forgotten
	bytes    bigint not null,
	weight   bigint not null, -- what it counts for: bytes, or more
	gone     boolean not null default false,
	by_whom  text not null,
	at       timestamptz not null default now(),
	replaced bigint,      -- by this revision
	expires  timestamptz, -- of what was replaced, and of removals
	writer   text collate "C" not null generated always as (split_part(by_whom, '/', 1)) stored, -- without the key
	size     bigint not null generated always as (case when text is null then 0 else bytes end + 300 + 3 * octet_length(path)) stored, -- with the row and its indexes
	primary key (scope, number)
);
create index revision_of_path on memcore.revision (scope, path, number);
create index revision_expired on memcore.revision (expires) where expires is not null;
create index revision_of_writer on memcore.revision (scope, writer, expires, number) where expires is not null;

create table memcore.document (
	scope    bigint not null,
	path     text collate "C" not null,
	revision bigint not null, -- has the text
	indexed  bytea,           -- core.Indexed
	digest   bytea,
	model    smallint,        -- that the vectors are made with
	chunks   integer not null,
	waiting  integer not null, -- chunks without a vector
	cut      text collate "C" not null, -- by what the records were made
	xid      bigint not null default pg_current_xact_id()::text::bigint, -- of the last change
	-- What instructs agents or is written by them, for Files.
	file     boolean not null generated always as (path ~* '(^|/)beans(\.local)?\.md$' or path ~ '^((@[^/]+|~)/)?\.beans/') stored,
	primary key (scope, path)
);
create index document_files on memcore.document (scope) where file;
create index document_changed on memcore.document (scope, xid);
create index document_cut on memcore.document (cut, scope);

-- A removal tells caches that a document is gone.
create table memcore.removal (
	scope bigint not null,
	path  text collate "C" not null,
	at    timestamptz not null default now(),
	xid   bigint not null default pg_current_xact_id()::text::bigint
);
create index removal_changed on memcore.removal (scope, xid);

create table memcore.record ( -- store.Record
	scope      bigint not null,
	id         text collate "C" not null,
	path       text collate "C" not null,
	visibility text not null,
	kind       text not null,
	start_line integer not null,
	end_line   integer not null,
	headings   text[],
	aliases    text[],
	session    text not null,
	speaker    text not null,
	time       timestamptz,
	text       text not null,
	before     text not null,
	after      text not null,
	hash       text not null,
	tokens     integer not null,
	words      bytea, -- keyword.Words
	primary key (scope, id)
);
create index record_of_document on memcore.record (scope, path);

-- Vectors are apart from texts, and in the row up to a page, so that a search reads little else.
create table memcore.embedding (
	scope  bigint not null,
	model  smallint not null,
	id     text collate "C" not null, -- of the record
	path   text collate "C" not null,
	visibility text not null,
	kind   text not null,
	time   timestamptz,
	vector vector not null,
	primary key (scope, model, id)
) with (toast_tuple_target = 8160);
alter table memcore.embedding alter column vector set storage external;
create index embedding_of_document on memcore.embedding (scope, path);

-- ANALYZE copies values into the catalogue, where those of a table that is empty now stay for good.
alter table memcore.revision alter text set statistics 0;
alter table memcore.document alter indexed set statistics 0, alter digest set statistics 0;
alter table memcore.record alter headings set statistics 0, alter aliases set statistics 0, alter text set statistics 0,
	alter before set statistics 0, alter after set statistics 0, alter words set statistics 0;
alter table memcore.embedding alter vector set statistics 0;

-- Documents with records without vectors.
create table memcore.waiting (
	scope bigint not null,
	path  text collate "C" not null,
	at    timestamptz not null default now(),
	taken timestamptz, -- by a node that makes the vectors
	primary key (scope, path)
);
create index on memcore.waiting (scope, taken nulls first, at desc);

do $$
declare name text;
begin
	foreach name in array array['revision', 'document', 'removal', 'record', 'embedding', 'waiting'] loop
		execute format('alter table memcore.%I enable row level security', name);
		-- The subquery is evaluated once for a statement, not for each row.
		execute format($p$create policy of_scope on memcore.%I using (scope = any ((select current_setting('memcore.scopes', true)::bigint[])::bigint[]))$p$, name);
	end loop;
	foreach name in array array['api_key', 'scope', 'usage', 'history'] loop
		execute format('alter table memcore.%I enable row level security', name);
		execute format($p$create policy of_tenant on memcore.%I using (tenant = (select current_setting('memcore.tenant', true)::bigint))$p$, name);
	end loop;
	if not exists (select from pg_roles where rolname = 'memcore_node') then
		create role memcore_node nologin;
	end if;
end $$;

-- What nodes do before they know the scopes, or for all of them. These run with the rights of the
-- owner, so they return no text of a document.

create function memcore.key(tenant_name text, key_id text) returns table
	(tenant bigint, hash bytea, user_name text, teams text[], access text, name text, created timestamptz, expires timestamptz)
	language sql stable security definer set search_path = memcore, pg_temp as $$
	select k.tenant, k.hash, k.user_name, k.teams, k.access, k.name, k.created, k.expires
	from api_key k join tenant t on t.id = k.tenant
	where t.name = tenant_name and k.id = key_id and (k.expires is null or k.expires > now())
$$;

create function memcore.scopes(of_tenant bigint, of_user text, of_teams text[]) returns table (id bigint, kind text, name text)
	language sql stable security definer set search_path = memcore, pg_temp as $$
	select id, kind, name from scope where tenant = of_tenant and
		(kind = 'shared' or kind = 'team' and name = any (of_teams) or kind = 'user' and name = of_user)
	order by id
$$;

create function memcore.reached(of_tenant bigint, wanted bigint) returns boolean
	language sql stable security definer set search_path = memcore, pg_temp as $$
	select exists (select from usage where tenant = of_tenant and part = wanted % 256 and last >= wanted)
$$;

create function memcore.take(most integer, lease interval) returns table (tenant bigint, scope bigint, path text, taken timestamptz)
	language sql security definer set search_path = memcore, pg_temp as $$
	with recursive s(id) as ( -- scopes with documents that wait
		select min(w.scope) from waiting w
		union all
		select (select min(w.scope) from waiting w where w.scope > s.id) from s where s.id is not null),
	next as (
		select c.tenant, n.scope, n.path from s join scope c on c.id = s.id cross join lateral (
			select o.scope, o.path from waiting o where o.scope = s.id and (o.taken is null or o.taken < now() - lease)
			order by o.taken nulls first, o.at desc limit most) n
		order by row_number() over (partition by c.tenant order by random()), random() limit most)
	update waiting w set taken = clock_timestamp() from next n
	where w.scope = n.scope and w.path = n.path and (w.taken is null or w.taken < now() - lease)
	returning n.tenant, w.scope, w.path, w.taken
$$;

create function memcore.cuts() returns table (tenant bigint, cut text)
	language sql stable security definer set search_path = memcore, pg_temp as $$
	select distinct s.tenant, d.cut from (select distinct scope, cut from document) d join scope s on s.id = d.scope
$$;

create function memcore.maintain() returns void
	language plpgsql security definer set search_path = memcore, pg_temp as $$
begin
	if not pg_try_advisory_xact_lock(7161001, 0) then
		return;
	end if;
	with expired as (
		delete from revision where (scope, number) in (select scope, number from revision where expires < now() limit 10000 for update skip locked)
		returning scope, replaced, writer, size),
	freed as (
		insert into history as h (tenant, writer, part, bytes) select s.tenant, e.writer, -1, -sum(e.size) from expired e join scope s on s.id = e.scope group by s.tenant, e.writer
		on conflict (tenant, writer, part) do update set bytes = h.bytes + excluded.bytes),
	-- All who change several of these rows take them in one order.
	these as (select id from scope where id in (select scope from expired where replaced is not null) order by id for update)
	update scope s set oldest = greatest(s.oldest, e.replaced)
	from (select scope, max(replaced) as replaced from expired group by scope) e where s.id = e.scope and s.id in (select id from these);
	delete from removal where at < now() - interval '1 day';
end $$;

-- A write has a row of usage until it ends, one that no other has. The row of a number is its rest by
-- 256, and each number is greater than those of all writes that had ended when its own began: so none
-- is given twice, and a tenant's numbers say nothing of other tenants.
create function memcore.take_part(of_tenant bigint) returns void
	language plpgsql set search_path = memcore, pg_temp as $$
declare mine integer;
begin
	select part into mine from usage where tenant = of_tenant and part >= 0 order by part limit 1 for update skip locked;
	if mine is null then
		select n into mine from generate_series(0, 255) n left join usage u on u.tenant = of_tenant and u.part = n order by u.part is not null, random() limit 1;
		insert into usage (tenant, part) values (of_tenant, mine) on conflict (tenant, part) do update set last = usage.last;
	end if;
	perform set_config('memcore.number', (max(last) / 256 * 256 + mine)::text, true) from usage where tenant = of_tenant;
end $$;

create function memcore.lost() returns bigint language plpgsql as $$
begin
	raise exception 'others have changed the document meanwhile' using errcode = 'MC001';
end $$;

-- A dump keeps the numbers of transactions, which a new server has not reached.
create function memcore.renew() returns void language sql set search_path = memcore, pg_temp as $$
	update document set xid = default where xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
	delete from removal where xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
$$;

revoke all on all functions in schema memcore from public;
grant usage on schema memcore to memcore_node;
grant select, insert, update, delete on all tables in schema memcore to memcore_node;
revoke insert, update, delete on memcore.schema from memcore_node;
grant select, usage on all sequences in schema memcore to memcore_node;
grant execute on function memcore.key, memcore.scopes, memcore.reached, memcore.take, memcore.take_part, memcore.lost, memcore.cuts, memcore.maintain to memcore_node;
