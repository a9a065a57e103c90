package sqlite

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// An object is a row of the schema: a table or an index.
type object struct {
	kind, name, table, sql string
	root                   uint32
}

func (db *DB) readSchema() error {
	return db.scan(1, 0, func(_ int64, values []any) error {
		var o object
		if len(values) < 5 {
			return ErrDamaged
		}
		o.kind, _ = values[0].(string)
		o.name, _ = values[1].(string)
		o.table, _ = values[2].(string)
		root, _ := values[3].(int64)
		o.root = uint32(root)
		o.sql, _ = values[4].(string)
		db.schema = append(db.schema, o)
		return nil
	})
}

// A Row holds the values of a row by the names of their columns: nil, int64, float64, string or
// []byte. Columns that were added after the row was written are missing.
type Row map[string]any

// Text returns a value that is a text or bytes, else "".
func (r Row) Text(column string) string {
	switch v := r[column].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// Int returns a value that is a whole number, else 0.
func (r Row) Int(column string) int64 {
	switch v := r[column].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

// Has reports whether the database has a table.
func (db *DB) Has(table string) bool {
	_, ok := db.object("table", table)
	return ok
}

func (db *DB) object(kind, name string) (object, bool) {
	i := slices.IndexFunc(db.schema, func(o object) bool { return o.kind == kind && strings.EqualFold(o.name, name) })
	if i < 0 {
		return object{}, false
	}
	return db.schema[i], true
}

// Rows calls do for each row of a table, in the order in which rows have been added, until it
// fails.
func (db *DB) Rows(table string, do func(Row) error) error {
	t, ok := db.object("table", table)
	if !ok {
		return fmt.Errorf("the database has no table %s", table)
	}
	columns := columnsOf(t.sql)
	return db.scan(t.root, 0, func(id int64, values []any) error { return do(columns.row(id, values)) })
}

// RowsWith calls do for each row of a table in which a column begins with a prefix, or with whole
// is equal to it, in the order of that column's index, until it fails. Without such an index it
// reads all rows.
func (db *DB) RowsWith(table, column, prefix string, whole bool, do func(Row) error) error {
	t, ok := db.object("table", table)
	if !ok {
		return fmt.Errorf("the database has no table %s", table)
	}
	columns := columnsOf(t.sql)
	fits := func(value string) bool { return value == prefix || !whole && strings.HasPrefix(value, prefix) }
	root, ok := db.indexOf(t, columns, column)
	if !ok {
		return db.scan(t.root, 0, func(id int64, values []any) error {
			if row := columns.row(id, values); fits(row.Text(column)) {
				return do(row)
			}
			return nil
		})
	}
	var ids []int64
	_, err := db.search(root, 0, prefix, func(values []any) bool {
		value, isText := values[0].(string)
		id, isID := values[len(values)-1].(int64)
		if isText && isID && fits(value) {
			ids = append(ids, id)
		}
		return !isText || value <= prefix || strings.HasPrefix(value, prefix)
	})
	for _, id := range ids {
		if err != nil {
			break
		}
		var values []any
		if values, err = db.lookup(t.root, id); err == nil {
			err = do(columns.row(id, values))
		}
	}
	return err
}

// indexOf returns the root of an index whose first column is the given one. Those that constraints
// make have no text; their columns are found only if the table has one such column.
func (db *DB) indexOf(t object, columns columns, column string) (uint32, bool) {
	for _, o := range db.schema {
		if o.kind != "index" || !strings.EqualFold(o.table, t.name) {
			continue
		}
		if o.sql == "" && columns.unique == column {
			return o.root, true
		}
		if _, list, ok := strings.Cut(o.sql, "("); ok && !strings.Contains(strings.ToUpper(o.sql), " WHERE ") {
			name, _ := word(list)
			if first, _, _ := strings.Cut(list, ","); name == column && !strings.Contains(strings.ToUpper(first), "COLLATE") && !strings.Contains(strings.ToUpper(first), "DESC") {
				return o.root, true
			}
		}
	}
	return 0, false
}

// visit returns a page of a tree that is walked from its root. No tree has a page twice.
func (db *DB) visit(number uint32, depth int) (node, error) {
	if depth == 0 {
		db.visited = map[uint32]bool{}
	}
	if db.visited[number] || depth > maxDepth {
		return node{}, fmt.Errorf("page %d stands twice in a tree: %w", number, ErrDamaged)
	}
	db.visited[number] = true
	return db.node(number)
}

// scan calls do for each row of a table's b-tree.
func (db *DB) scan(root uint32, depth int, do func(id int64, values []any) error) error {
	n, err := db.visit(root, depth)
	if err != nil {
		return err
	}
	for _, at := range n.cells {
		switch n.kind {
		case tableInterior:
			err = db.scan(binary.BigEndian.Uint32(n.data[at:]), depth+1, do)
		case tableLeaf:
			var id int64
			var values []any
			if id, values, err = db.tableCell(n.data[at:db.usable]); err == nil {
				err = do(id, values)
			}
		default:
			err = ErrDamaged
		}
		if err != nil {
			return err
		}
	}
	if n.kind == tableInterior {
		return db.scan(n.right, depth+1, do)
	}
	return nil
}

func (db *DB) tableCell(cell []byte) (id int64, values []any, err error) {
	size, n := varint(cell)
	key, m := varint(cell[n:])
	if n == 0 || m == 0 {
		return 0, nil, ErrDamaged
	}
	payload, err := db.payload(cell[n+m:], size, true)
	if err != nil {
		return 0, nil, err
	}
	values, err = record(payload)
	return int64(key), values, err
}

// lookup returns the row of a table that has an ID.
func (db *DB) lookup(root uint32, id int64) ([]any, error) {
	for range maxDepth {
		n, err := db.node(root)
		if err != nil {
			return nil, err
		}
		next := n.right
		for _, at := range n.cells {
			switch n.kind {
			case tableInterior:
				key, _ := varint(n.data[at+4 : db.usable])
				if id <= int64(key) {
					next = binary.BigEndian.Uint32(n.data[at:])
				}
			case tableLeaf:
				_, m := varint(n.data[at:db.usable])
				if key, _ := varint(n.data[at+m : db.usable]); int64(key) == id {
					_, values, err := db.tableCell(n.data[at:db.usable])
					return values, err
				}
			default:
				return nil, ErrDamaged
			}
			if next != n.right {
				break
			}
		}
		if n.kind == tableLeaf {
			return nil, ErrDamaged // the index names a row that is not there
		}
		root = next
	}
	return nil, ErrDamaged
}

// search calls do for the entries of an index whose first value is not less than a text, until it
// returns false.
func (db *DB) search(root uint32, depth int, from string, do func(values []any) bool) (more bool, err error) {
	n, err := db.visit(root, depth)
	if err != nil {
		return false, err
	}
	if n.kind != indexInterior && n.kind != indexLeaf {
		return false, ErrDamaged
	}
	for _, at := range n.cells {
		cell := n.data[at:db.usable]
		child := uint32(0)
		if n.kind == indexInterior {
			child, cell = binary.BigEndian.Uint32(cell), cell[4:]
		}
		size, m := varint(cell)
		if m == 0 {
			return false, ErrDamaged
		}
		payload, err := db.payload(cell[m:], size, false)
		if err != nil {
			return false, err
		}
		values, err := record(payload)
		if err != nil || len(values) < 2 {
			return false, ErrDamaged
		}
		if text, ok := values[0].(string); !less(values[0]) && (!ok || text >= from) {
			if child != 0 {
				if more, err := db.search(child, depth+1, from, do); err != nil || !more {
					return more, err
				}
			}
			if !do(values) {
				return false, nil
			}
		}
	}
	if n.kind == indexInterior {
		return db.search(n.right, depth+1, from, do)
	}
	return true, nil
}

// less reports whether a value stands before all texts: NULL and numbers do, bytes do not.
func less(value any) bool {
	switch value.(type) {
	case nil, int64, float64:
		return true
	}
	return false
}

// columns are those of a table.
type columns struct {
	names  []string
	alias  int    // of the rowid, or -1
	unique string // the only one that a constraint makes unique, or ""
}

func (c columns) row(id int64, values []any) Row {
	row := make(Row, len(c.names))
	for i, name := range c.names {
		if i == c.alias {
			row[name] = id
		} else if i < len(values) {
			row[name] = values[i]
		}
	}
	return row
}

// columnsOf reads the columns in the text that created a table.
func columnsOf(sql string) columns {
	c := columns{alias: -1}
	_, list, _ := strings.Cut(sql, "(")
	unique := 0
	for _, definition := range split(list) {
		name, rest := word(definition)
		rest = strings.ToUpper(rest)
		constraint := strings.ToUpper(name)
		switch {
		case name == "":
			continue
		case constraint == "CONSTRAINT" || constraint == "PRIMARY" || constraint == "UNIQUE" || constraint == "FOREIGN" || constraint == "CHECK":
			if strings.Contains(rest, "UNIQUE") || strings.Contains(rest, "PRIMARY") || constraint == "UNIQUE" || constraint == "PRIMARY" {
				unique += 2 // of several columns, which are not read
			}
			continue
		case strings.HasPrefix(strings.TrimSpace(rest), "INTEGER") && strings.Contains(rest, "PRIMARY KEY"):
			c.alias = len(c.names)
		case strings.Contains(rest, "PRIMARY KEY") || strings.Contains(rest, "UNIQUE"):
			unique++
			c.unique = name
		}
		c.names = append(c.names, name)
	}
	if unique != 1 {
		c.unique = ""
	}
	return c
}

// split cuts a list in parentheses at its commas, up to its closing parenthesis.
func split(list string) (parts []string) {
	depth, begin, quote := 0, 0, byte(0)
	for i := range len(list) {
		b := list[i]
		switch {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '\'' || b == '"' || b == '`':
			quote = b
		case b == '[':
			quote = ']'
		case b == '(':
			depth++
		case b == ')' && depth == 0:
			return append(parts, list[begin:i])
		case b == ')':
			depth--
		case b == ',' && depth == 0:
			parts, begin = append(parts, list[begin:i]), i+1
		}
	}
	return parts
}

// word returns the first name of a text, without its quotes, and what follows.
func word(text string) (name, rest string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", ""
	}
	if end := strings.IndexByte(`"`+"`"+`[`, text[0]); end >= 0 {
		name, rest, _ = strings.Cut(text[1:], string(`"` + "`" + `]`)[end:end+1])
		return name, rest
	}
	i := strings.IndexAny(text, " \t\r\n(,)")
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i:]
}
