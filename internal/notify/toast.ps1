$ErrorActionPreference = 'Stop'
$null = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$null = [Windows.Data.Xml.Dom.XmlDocument, Windows.Data.Xml.Dom.XmlDocument, ContentType = WindowsRuntime]
$shape = [Windows.UI.Notifications.ToastTemplateType]::ToastText02
$template = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent($shape)
$xml = New-Object System.Xml.XmlDocument
$xml.LoadXml($template.GetXml())
$lines = $xml.GetElementsByTagName('text')
$null = $lines.Item(0).AppendChild($xml.CreateTextNode($env:PLANLOOP_NOTICE_TITLE))
$null = $lines.Item(1).AppendChild($xml.CreateTextNode($env:PLANLOOP_NOTICE_TEXT))
$document = New-Object Windows.Data.Xml.Dom.XmlDocument
$document.LoadXml($xml.OuterXml)
$notice = New-Object Windows.UI.Notifications.ToastNotification $document
$app = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe'
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($app).Show($notice)
