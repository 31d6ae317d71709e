package httpapi

import (
	"net"

	"golang.org/x/sys/unix"
)

// ignoreHandshakes attaches a filter of packets to a listener.
func ignoreHandshakes(listener *net.TCPListener) error {
	conn, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	const flags, syn, ack, whole = 13, 0x02, 0x10, 1 << 18 // offset and bits in the TCP header; more than any packet
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: syn | ack},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: syn, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K}, // nothing of a SYN
		{Code: unix.BPF_RET | unix.BPF_K, K: whole},
	}
	var attached error
	err = conn.Control(func(fd uintptr) {
		attached = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	})
	if err == nil {
		err = attached
	}
	return err
}
