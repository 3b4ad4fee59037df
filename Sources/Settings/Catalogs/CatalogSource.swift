package import BellhopRules
import Synchronization

/// The active catalogues, which a reload replaces between two batches.
package final class CatalogSource: Sendable {
    private let state: Mutex<(catalogs: CatalogSet, refusal: String?)>

    package init(_ catalogs: CatalogSet) {
        state = Mutex((catalogs, nil))
    }

    package var current: CatalogSet {
        state.withLock(\.catalogs)
    }

    /// The reason why the catalogues found last on disk are not active; `nil` if they are.
    package var refusal: String? {
        state.withLock(\.refusal)
    }

    /// Notes that the catalogues on disk cannot be used.
    package func refuse(because reason: String) {
        state.withLock { $0.refusal = reason }
    }

    /// Activates other catalogues; running batches keep those with which they began.
    package func replace(_ others: CatalogSet) {
        state.withLock { $0 = (others, nil) }
    }
}
