import ServiceRuntime
import Settings
import Testing

@Suite("Settings of the log")
struct LogSettingsTests {
    @Test(
        "BELLHOP_LOG sets a level and a form",
        arguments: [
            ("info", LogSettings(level: .info, form: .text)), ("debug,json", LogSettings(level: .debug, form: .json)),
            ("INFO", nil), ("info,", nil), ("info,xml", nil), ("", nil), (",json", nil), ("info,json,json", nil),
        ] as [(String, LogSettings?)]
    )
    func settings(text: String, expected: LogSettings?) {
        #expect(LogSettings(text) == expected)
    }
}
