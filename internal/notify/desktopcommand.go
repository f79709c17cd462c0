package notify

import "strings"

// command returns the arguments and the environment of the programme that shows a
// notice, nil where none is known. Only texts vary, and none of them is read as
// an option, as markup or as a script.
func (d *desktop) command(title, text string) (argv, env []string) {
	title, text = undashed(title), undashed(text)
	switch d.system {
	case "linux", "freebsd", "openbsd", "netbsd":
		return []string{"notify-send", "--app-name=planloop", "--", title, notifySendBody(text)}, d.kept(sessionVariables())
	case "darwin":
		return append(appleScript(), title, text), d.kept(sessionVariables())
	case "windows":
		return d.powerShell(), append(d.kept(windowsVariables()), titleVariable+"="+title, textVariable+"="+text)
	}
	return nil, nil
}

// undashed returns text that no programme takes for an option.
func undashed(s string) string {
	if strings.HasPrefix(s, "-") {
		return " " + s
	}
	return s
}

// notifySendBody escapes what notify-send and the desktop behind it interpret in
// the second of their texts: first backslashes, of which notify-send makes other
// characters, then the markup that the desktop would show.
func notifySendBody(s string) string {
	return strings.NewReplacer(`\`, `\\`, "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// appleScript shows the texts that follow it. They are arguments of the script
// and no part of it; the first argument is a fixed word, at which osascript stops
// looking for options.
func appleScript() []string {
	return []string{"/usr/bin/osascript",
		"-e", "on run argv",
		"-e", "display notification (item 3 of argv) with title (item 1 of argv) subtitle (item 2 of argv)",
		"-e", "end run",
		"planloop"}
}

// The variables by which the texts reach the script on Windows.
const (
	titleVariable = "PLANLOOP_NOTICE_TITLE"
	textVariable  = "PLANLOOP_NOTICE_TEXT"
)

// toast is a PowerShell script that shows a notice. Its texts come from the
// environment and are put into the document as text. It has no double quotes,
// which would not survive a Windows command line as they are.
const toast = `$ErrorActionPreference = 'Stop'
$null = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$null = [Windows.Data.Xml.Dom.XmlDocument, Windows.Data.Xml.Dom.XmlDocument, ContentType = WindowsRuntime]
$template = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$xml = New-Object System.Xml.XmlDocument
$xml.LoadXml($template.GetXml())
$lines = $xml.GetElementsByTagName('text')
$null = $lines.Item(0).AppendChild($xml.CreateTextNode($env:PLANLOOP_NOTICE_TITLE))
$null = $lines.Item(1).AppendChild($xml.CreateTextNode($env:PLANLOOP_NOTICE_TEXT))
$document = New-Object Windows.Data.Xml.Dom.XmlDocument
$document.LoadXml($xml.OuterXml)
$notice = New-Object Windows.UI.Notifications.ToastNotification $document
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe').Show($notice)`

// powerShell names the programme in full: a folder of the workspace may stand in
// PATH before its own.
func (d *desktop) powerShell() []string {
	root := d.getenv("SystemRoot")
	if root == "" {
		root = `C:\Windows`
	}
	return []string{root + `\System32\WindowsPowerShell\v1.0\powershell.exe`, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", toast}
}

// kept returns those variables that are set. The rest of the environment, where
// keys stand, is no concern of a programme that shows a text.
func (d *desktop) kept(names []string) []string {
	env := []string{}
	for _, name := range names {
		if value := d.getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func sessionVariables() []string {
	return []string{"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "LC_ALL", "PATH", "USER", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"}
}

func windowsVariables() []string {
	return []string{"APPDATA", "LOCALAPPDATA", "PATH", "SystemDrive", "SystemRoot", "TEMP", "TMP", "USERNAME", "USERPROFILE", "windir"}
}
