package binlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// Events of MariaDB 10.11: the description of the format, and an update of product 1 in
// catalog_product_website with the prefix mg_.
const (
	formatEvent = "c6f4046b0f01000000fc000000000100000000040031302e31312e31392d4d6172696144422d302b646562313275312d6c6f6700000000000000000000000000000000000000000000000013380d000800120004040404120000e400041a08000000080808020000000a0a0a0000000000000a0a0a" +
		"0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000041304000d0808080a0a0a012487f794"
	tableEvent  = "c6f4046b1301000000480000000555080000006b0000000000010006746573745f31001a6d675f636174616c6f675f70726f647563745f7765627369746500020302000037de1a81"
	updateEvent = "c6f4046b1801000000300000003555080000006b00000000000100020303fc010000000100fc010000000400d8e6b705"
)

// newTestReader returns a Reader without a server, which knows the table of the events above,
// and a parser that has read its description.
func newTestReader(tb testing.TB) (*Reader, *replication.BinlogParser) {
	tb.Helper()
	r := &Reader{prefix: "mg_", database: "test_1", heartbeat: time.Hour, returned: time.Now(), wake: make(chan struct{}, 1), opened: make(chan struct{})}
	const id = 0x6b
	r.stream = stream{open: NewSet(10), found: map[Finding]bool{}, layouts: map[uint64]*layout{
		id: {table: TableOf("catalog_product_website"), places: []int{0}, types: []byte{gomysql.MYSQL_TYPE_LONG, gomysql.MYSQL_TYPE_SHORT}},
	}}
	if err := r.setGTIDs(gomysql.MariaDBFlavor, ""); err != nil {
		tb.Fatal(err)
	}
	r.ready.changes = NewSet(10)
	parser := replication.NewBinlogParser()
	parser.SetFlavor(gomysql.MariaDBFlavor)
	parser.SetRowsEventDecodeFunc(r.decodeRows)
	for _, event := range []string{formatEvent, tableEvent} {
		if _, err := parser.Parse(unhex(tb, event)); err != nil {
			tb.Fatal(err)
		}
	}
	return r, parser
}

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	data, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// withBody returns an event with another body, without a checksum that counts.
func withBody(event, body []byte) []byte {
	const sizeAt, checksum = 9, 4
	all := slices.Concat(event[:replication.EventHeaderSize], body, make([]byte, checksum))
	binary.LittleEndian.PutUint32(all[sizeAt:], uint32(len(all)))
	return all
}

func TestUndecodable(t *testing.T) {
	whole := unhex(t, updateEvent)
	body := whole[replication.EventHeaderSize : len(whole)-4]
	for _, c := range []struct {
		name     string
		body     []byte
		findings []string
		fails    bool
	}{
		{"whole", body, nil, false},
		{"row that ends early", body[:len(body)-3], []string{"catalog_product_website"}, false},
		{"update without the columns that have not changed", unhex(t, "6b0000000000"+"0100"+"02"+"03"+"02"+"fc010000000100"+"fe0400"), nil, false},
		{"header that ends early", body[:3], nil, true},
		{"no rows", body[:len(body)-14], []string{"catalog_product_website"}, false},
		{"rows without columns", slices.Concat(body[:8], []byte{0}, body[8:]), []string{"binlog_row_image"}, false},
		{"unknown table", append([]byte{1}, body[1:]...), nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, parser := newTestReader(t)
			e, err := parser.Parse(withBody(whole, c.body))
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			if err != nil {
				if text := explain(err).Error(); !strings.Contains(text, ErrGap.Error()) || strings.Contains(text, "Data") {
					t.Errorf("error %q", text)
				}
				return
			}
			if err := r.handle(e); err != nil {
				t.Fatal(err)
			}
			if got := r.open.Parts(); !slices.Equal(got, []magento1.Part{magento1.Products}) {
				t.Errorf("parts %v", got)
			}
			var names []string
			for _, f := range r.findings {
				names = append(names, f.Name)
			}
			if !slices.Equal(names, c.findings) {
				t.Errorf("findings %v", names)
			}
		})
	}
}

// FuzzRows checks that no event with rows makes the reader panic, and that one which can be
// read in part is not taken for one that changes nothing.
func FuzzRows(f *testing.F) {
	whole := unhex(f, updateEvent)
	f.Add(whole[replication.EventHeaderSize : len(whole)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		r, parser := newTestReader(t)
		e, err := parser.Parse(withBody(whole, body))
		if err != nil {
			return
		}
		if err := r.handle(e); err != nil {
			t.Error(err)
		}
		if rows := e.Event.(*replication.RowsEvent); len(rows.Rows) == 0 && r.undecoded {
			t.Error("the event could not be decoded, and nobody knows")
		}
	})
}

func TestLeadingWords(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"BEGIN", "begin|"},
		{" \n/* a comment */ Truncate TABLE `x`", "truncate|table"},
		{"/* one *//* two */drop database `a b`", "drop|database"},
		{"/*!40000 ALTER TABLE x DISABLE KEYS */", "40000|alter"},
		{"/* without an end", "without|an"},
		{"", "|"},
		{"`", "|"},
	} {
		if got := strings.Join(leadingWords([]byte(c.query), 2), "|"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.query, got, c.want)
		}
	}
}

// FuzzStatement checks that statements which name none of the shop's tables change nothing, and
// that those which name one do, unless they only maintain it.
func FuzzStatement(f *testing.F) {
	for _, query := range []string{
		"BEGIN", "COMMIT", "TRUNCATE TABLE `mg_review`", "ALTER TABLE test_1.mg_review ADD COLUMN x INT", "DROP DATABASE test_1", "XA COMMIT X'78',X'',1",
		"/* x */ INSERT INTO mg_review VALUES (1, \"\x00\xff\")", "SAVEPOINT `a`", "# comment", "CREATE TABLE x LIKE mg_review",
	} {
		f.Add("test_1", []byte(query))
	}
	f.Fuzz(func(t *testing.T, schema string, query []byte) {
		r, _ := newTestReader(t)
		r.addStatement(&replication.EventHeader{}, schema, query)
		lower := bytes.ToLower(query)
		if r.open.Merge(r.ready.changes); !r.open.Empty() && !bytes.Contains(lower, []byte("mg_")) && !bytes.Contains(lower, []byte("test_1")) && !bytes.Contains(lower, []byte("xa")) {
			t.Errorf("%q changes %v", query, r.open.Parts())
		}
	})
}

func TestAdvance(t *testing.T) {
	const fourGiB = 1 << 32
	for _, c := range []struct {
		name   string
		offset uint64
		header replication.EventHeader
		want   uint64
	}{
		{"next event", 1000, replication.EventHeader{LogPos: 1100}, 1100},
		{"event without a place", 1000, replication.EventHeader{}, 1000},
		{"beyond 4 GiB", fourGiB - 10, replication.EventHeader{LogPos: 90}, fourGiB + 90},
		{"far beyond 4 GiB", 2*fourGiB + 500, replication.EventHeader{LogPos: 600}, 2*fourGiB + 600},
		{"event to begin with", 1000, replication.EventHeader{LogPos: 256}, 1000},
		{"made by the server", 1000, replication.EventHeader{LogPos: 2000, Flags: replication.LOG_EVENT_ARTIFICIAL_F}, 1000},
		{"heartbeat", 1000, replication.EventHeader{LogPos: 2000, EventType: replication.HEARTBEAT_EVENT}, 1000},
	} {
		s := stream{position: magento1.Position{Offset: c.offset}}
		if s.advance(&c.header); s.position.Offset != c.want {
			t.Errorf("%s: got %d, want %d", c.name, s.position.Offset, c.want)
		}
	}
}

// updateOf returns an event that updates a product.
func updateOf(t *testing.T, parser *replication.BinlogParser, product uint32) *replication.BinlogEvent {
	t.Helper()
	const before, after = 30, 37 // where the images have the id
	if _, err := parser.Parse(unhex(t, tableEvent)); err != nil {
		t.Fatal(err)
	}
	data := unhex(t, updateEvent)
	binary.LittleEndian.PutUint32(data[before+1:], product)
	binary.LittleEndian.PutUint32(data[after+1:], product)
	e, err := parser.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func eventOf(kind replication.EventType, event replication.Event) *replication.BinlogEvent {
	return &replication.BinlogEvent{Header: &replication.EventHeader{EventType: kind, Timestamp: 1_700_000_000}, Event: event}
}

func xid() *replication.BinlogEvent {
	return eventOf(replication.XID_EVENT, &replication.XIDEvent{})
}

// taken returns the changes that are ready, of which no keys need be looked up.
func taken(t *testing.T, r *Reader) (b batch, changes []Change) {
	t.Helper()
	b, ok, err := r.take()
	if !ok || err != nil {
		t.Fatalf("nothing is ready: %v", err)
	}
	if changes, err = b.changes.Changes(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return b, changes
}

// TestNobodyTakes checks that changes which no consumer takes are combined, in bounded memory.
func TestNobodyTakes(t *testing.T) {
	for _, c := range []struct {
		name     string
		products int
		want     []Change
	}{
		{"a few products, often", 2, []Change{{Part: magento1.Products, Key: 1}, {Part: magento1.Products, Key: 2}}},
		{"more products than are named", 1000, []Change{{Part: magento1.Products}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, parser := newTestReader(t)
			for i := range 1000 {
				for _, e := range []*replication.BinlogEvent{updateOf(t, parser, uint32(i%c.products+1)), xid()} {
					if err := r.handle(e); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := r.handle(updateOf(t, parser, 3)); err != nil { // of a transaction that has not ended
				t.Fatal(err)
			}
			b, changes := taken(t, r)
			if !slices.Equal(changes, c.want) || b.at.Unix() != 1_700_000_000 {
				t.Errorf("got %v of %s, want %v", changes, b.at, c.want)
			}
		})
	}
}

// TestMySQL reads events of MySQL: transactions with GTIDs, one of them in one compressed event.
func TestMySQL(t *testing.T) {
	const server = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	r, parser := newTestReader(t)
	if err := r.setGTIDs(gomysql.MySQLFlavor, server+":1-5"); err != nil {
		t.Fatal(err)
	}
	gtid := func(number int64) *replication.BinlogEvent {
		return eventOf(replication.GTID_EVENT, &replication.GTIDEvent{SID: unhex(t, strings.ReplaceAll(server, "-", "")), GNO: number})
	}
	statement := func(text string) *replication.BinlogEvent {
		return eventOf(replication.QUERY_EVENT, &replication.QueryEvent{Schema: []byte("test_1"), Query: []byte(text)})
	}
	for _, c := range []struct {
		name   string
		events []*replication.BinlogEvent
		want   []Change
		gtid   string
	}{
		{"transaction", []*replication.BinlogEvent{gtid(6), statement("BEGIN"), updateOf(t, parser, 1), xid()}, []Change{{Part: magento1.Products, Key: 1}}, server + ":1-6"},
		{"changed schema", []*replication.BinlogEvent{gtid(7), statement("ALTER TABLE mg_review ADD x INT")}, []Change{{Part: magento1.Products}}, server + ":1-7"},
		{"compressed transaction", []*replication.BinlogEvent{gtid(8), eventOf(replication.TRANSACTION_PAYLOAD_EVENT, &replication.TransactionPayloadEvent{
			Events: []*replication.BinlogEvent{statement("BEGIN"), updateOf(t, parser, 2), xid()}})}, []Change{{Part: magento1.Products, Key: 2}}, server + ":1-8"},
		{"XA transaction", []*replication.BinlogEvent{gtid(9), statement("XA START X'78',X'',1"), updateOf(t, parser, 4), statement("XA END X'78',X'',1"),
			eventOf(xaPrepareEvent, &replication.GenericEvent{}), gtid(10), statement("XA COMMIT X'78',X'',1")}, []Change{{Part: magento1.Products, Key: 4}}, server + ":1-10"},
		{"transaction without a number", []*replication.BinlogEvent{eventOf(replication.ANONYMOUS_GTID_EVENT, &replication.GTIDEvent{}), statement("BEGIN"), updateOf(t, parser, 3), xid()},
			[]Change{{Part: magento1.Products, Key: 3}}, server + ":1-10"},
	} {
		for _, e := range c.events {
			if err := r.handle(e); err != nil {
				t.Fatal(err)
			}
		}
		b, changes := taken(t, r)
		if !slices.Equal(changes, c.want) || b.position.GTID != c.gtid {
			t.Errorf("%s: got %v at %s, want %v at %s", c.name, changes, b.position.GTID, c.want, c.gtid)
		}
	}
}

func TestOtherEvents(t *testing.T) {
	for _, c := range []struct {
		name  string
		event *replication.BinlogEvent
		gap   bool
		parts int
	}{
		{"lost events", eventOf(replication.INCIDENT_EVENT, &replication.GenericEvent{}), true, 0},
		{"LOAD DATA as a statement", eventOf(replication.EXECUTE_LOAD_QUERY_EVENT, &replication.ExecuteLoadQueryEvent{}), false, len(magento1.Parts())},
		{"event of a later version", eventOf(200, &replication.GenericEvent{}), false, 0},
		{"commit of an XA transaction from before", eventOf(replication.QUERY_EVENT, &replication.QueryEvent{Query: []byte("XA COMMIT X'79',X'',1")}), false, len(magento1.Parts())},
		{"rollback of an XA transaction from before", eventOf(replication.QUERY_EVENT, &replication.QueryEvent{Query: []byte("XA ROLLBACK X'79',X'',1")}), false, 0},
		{"removed database", eventOf(replication.QUERY_EVENT, &replication.QueryEvent{Query: []byte("DROP DATABASE `test_1`")}), false, len(magento1.Parts())},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := newTestReader(t)
			err := r.handle(c.event)
			if r.commit(&replication.EventHeader{}); errors.Is(err, ErrGap) != c.gap || len(r.ready.changes.Parts()) != c.parts {
				t.Errorf("got %v, and parts %v", err, r.ready.changes.Parts())
			}
		})
	}
}
