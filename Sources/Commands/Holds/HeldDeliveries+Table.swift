import CLI
import Operations
import ServiceRuntime
import Settings
import Store

extension HeldDeliveries {
    /// Returns the table of `bellhop hold list`.
    static func table(_ views: [HeldDeliveries]) -> TextTable {
        TextTable(
            ["hold", "app", "type", "provider", "since", "by", "waiting", "because"],
            texts: [1, 2, 3, 4, 5, 7],
            flexible: [5, 7],
            rows: views.map { view in
                let hold = view.hold
                return [
                    String(hold.number), hold.scope.app.text, hold.scope.type?.text ?? "all",
                    hold.scope.provider ?? "all", HumanText.ago(hold.placedAt, view.asOf),
                    HumanText.cut(hold.operator, to: 16), view.count, HumanText.cut(hold.because, to: 60),
                ]
            }
        )
    }
}
