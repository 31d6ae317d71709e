package mapping_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"runtime"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// maxBodyBytes is the default limit for a body.
const maxBodyBytes = 16 << 20

// TestHeavyBodies sends some of the most expensive bodies to every call. The memory each
// takes must be proportional to its size, and so must the reply.
func TestHeavyBodies(t *testing.T) {
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	values := []oddValue{
		{name: "a text of all bytes", json: `"%s":"` + strings.Repeat("x", maxBodyBytes-1<<10) + `"`},
		{name: "escapes", json: `"%s":"` + strings.Repeat(`\u0000`, maxBodyBytes/6-1<<10) + `"`},
		{name: "base64 with much padding", json: `"%s":"` + strings.Repeat("A===", maxBodyBytes/4-1<<10) + `"`},
		{name: "markup", json: `"%s":"` + strings.Repeat("<a>", maxBodyBytes/3-1<<10) + `"`},
		{name: "digits", json: `"%s":` + strings.Repeat("9", maxBodyBytes-1<<10)},
		{name: "200,000 entries", json: `"%s":[0` + strings.Repeat(",0", 200_000) + "]"},
		{name: "50,000 records", json: `"%s":[` + many(`{"website_id":0,"cust_group":1,"price":1,"price_qty":%d},`, 50_000) + "0]"},
		{name: "100,000 names", json: `"%s":{` + many(`"n%d":1,`, 100_000) + `"a":1}`},
		{name: "100,000 fields", json: many(`"n%d":1,`, 100_000) + `"%s":1`},
	}
	limits, sample := settings(), testenv.NewSample(t)
	limits.BodyBytes = maxBodyBytes
	for _, d := range contract.Dialects() {
		s := serveDemo(t, d, limits, openSQLiteDemo(t), nil)
		shop := &bodyShop{shop: s, watcher: s.watchStore(t)}
		shop.restore(t)
		for _, c := range bodyCalls(t) {
			// the fields that hold the most or may hold a list, and one of the others
			var fields []string
			for j := range c.fields.Fields {
				f := &c.fields.Fields[j]
				switch f.Name {
				case "email", "street", "description", "url_key", "custom_layout_update", "group_price", "tier_price", "stock_data",
					"file_content", "file_name", "types", "copy_to_stores", "website_id", "category_id", "qty", "item_id", "comment":
					fields = append(fields, f.Name)
				default:
					if len(fields) == 0 && f.Writable(d, contract.Admin) {
						fields = append(fields, f.Name)
					}
				}
			}
			t.Run(d.Name+" "+c.name+" "+c.path, func(t *testing.T) {
				for _, field := range fields {
					for _, v := range values {
						if !sample.Takes(240) { // at night one in six
							continue
						}
						what := fmt.Sprintf("%s %s, %s: %s", c.method, c.path, field, v.name)
						shop.sendHeavyAndCheck(t, what, c, shop.withUniqueValues(bodiesWith(t, goodBodies()[c.name], field, v)["application/json"]))
					}
				}
			})
		}
	}
}

// sendHeavyAndCheck is like sendAndCheck for a JSON body, and also checks memory.
func (s *bodyShop) sendHeavyAndCheck(t *testing.T, what string, c bodyCall, body string) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.sendAndCheck(t, what, c, "application/json", "application/json", body)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(200<<20+20*len(body)) {
		t.Errorf("%s: allocated %d MB for a body of %d KB", what, used>>20, len(body)>>10)
	}
}

// chunk returns a chunk of a PNG.
func chunk(name string, content []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	b = append(append(b, name...), content...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// deflated returns n zero bytes, compressed. It compresses the first of many only and
// repeats the result, which takes a hundredth of the time.
func deflated(t testing.TB, n int) []byte {
	t.Helper()
	var block bytes.Buffer
	w, err := flate.NewWriter(&block, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	size := min(n, 1<<20)
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	data := append([]byte{0x78, 0x9c}, bytes.Repeat(block.Bytes(), n/size)...) // RFC 1950
	data = append(data, 1, 0, 0, 0xff, 0xff)                                   // an empty last block
	return binary.BigEndian.AppendUint32(data, uint32(n%65521)<<16|1)          // the Adler-32 of zeros
}

// TestImageBombs uploads images that decompress to many times their size. They must be
// refused, or never be decompressed.
func TestImageBombs(t *testing.T) {
	bomb := deflated(t, 256<<20)
	dot := deflated(t, 2) // the filter of the line and one gray pixel
	picture := func(width, height uint32, data []byte, extra ...[]byte) []byte {
		header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
		parts := append([][]byte{[]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(header, 8, 0, 0, 0, 0))}, extra...)
		return bytes.Join(append(parts, chunk("IDAT", data), chunk("IEND", nil)), nil)
	}
	tests := []struct {
		name    string
		content []byte
		taken   bool
	}{
		{"an image", picture(1, 1, dot), true},
		{"compressed text", picture(1, 1, dot, chunk("zTXt", append([]byte("Comment\x00\x00"), bomb...))), true},
		{"a compressed profile", picture(1, 1, dot, chunk("iCCP", append([]byte("p\x00\x00"), bomb...))), true},
		{"compressed text in another language", picture(1, 1, dot, chunk("iTXt", append([]byte("c\x00\x01\x00\x00\x00"), bomb...))), true},
		{"more data than pixels", picture(1, 1, bomb), false},
		{"a large empty image", picture(1<<14, 1<<14, bomb), false},
		{"header with a large size and no data", picture(1<<30, 1<<30, dot), false},
		{"a chunk with a wrong length", append([]byte("\x89PNG\r\n\x1a\n\xff\xff\xff\xffIHDR"), dot...), false},
		{"20,000 chunks", picture(1, 1, dot, bytes.Repeat(chunk("tEXt", nil), 20_000)), true},
		{"a large image in a small GIF", []byte("GIF89a\xff\xff\xff\xff\xf0\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x02D\x01\x00;"), false},
		{"a large image in a small JPEG", []byte("\xff\xd8\xff\xc0\x00\x0b\x08\xff\xff\xff\xff\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00?\x00\x00\xff\xd9"), false},
	}
	for _, d := range bothDialects() {
		s := openBodyShop(t, d)
		c := bodyCall{name: "createProductImage", method: "POST", path: "/products/1/images"}
		for _, tt := range tests {
			t.Run(d.Name+" "+tt.name, func(t *testing.T) {
				stored := len(s.watcher.mediaFiles(t))
				s.sendHeavyAndCheck(t, tt.name, c, body(t, newImage(), "file_content", base64.StdEncoding.EncodeToString(tt.content)))
				if taken := len(s.watcher.mediaFiles(t)) > stored; taken != tt.taken {
					t.Errorf("accepted: %t", taken)
				}
			})
		}
	}
}
