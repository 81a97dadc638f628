/**
 * A reason for which a service cannot start and which its operator can mend: told as one sentence, without the stack of
 * a fault of ours.
 */
export class ServiceFault extends Error {
  override readonly name = 'ServiceFault';
}
