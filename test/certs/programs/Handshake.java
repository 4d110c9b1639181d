import java.io.File;
import java.net.Socket;
import java.security.KeyStore;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/** One TLS handshake as an HTTPS client makes it: Handshake.java PORT HOST KEYSTORE PASSWORD. */
class Handshake {
  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(KeyStore.getInstance(new File(args[2]), args[3].toCharArray()));
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    Socket plain = new Socket("127.0.0.1", port);
    SSLSocket secure = (SSLSocket) context.getSocketFactory().createSocket(plain, args[1], port, true);
    var parameters = secure.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    secure.setSSLParameters(parameters);
    secure.startHandshake();
    String text = new String(secure.getInputStream().readAllBytes());
    System.out.println(secure.getSession().getProtocol() + " " + text);
  }
}
