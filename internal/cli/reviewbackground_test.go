package cli

import (
	"fmt"
	"net"
	"os"
)

// askDirectly is a program that asks the page without the command: askpage SOCKET, or askpage SOCKET again for its second socket.
func askDirectly() {
	answer, err := pageMessage{}, error(nil)
	if len(os.Args) == 2 {
		answer, err = askPage(os.Args[1], pageMessage{})
	} else {
		var conn net.Conn
		if conn, err = net.Dial("unix", os.Args[1]); err == nil {
			send(conn, pageMessage{})
			answer, err = receive(conn)
		}
	}
	fmt.Println("answer:", answer.Text, err)
}
