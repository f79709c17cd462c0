package cli

import (
	"fmt"
	"os"
)

// askDirectly is a program that asks the page without the command: askpage SOCKET, or askpage SOCKET again for its second socket.
func askDirectly() {
	answer, err := askPage(os.Args[1], pageMessage{})
	if err == nil && len(os.Args) == 2 {
		answer, err = askPage(answer.Socket, pageMessage{})
	}
	fmt.Println("answer:", answer.Text, err)
}
